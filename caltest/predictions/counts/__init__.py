"""Predicted counts: laws, the window of counts that sums run over, and expectations of kernels."""
