"""Errors measured by kernels: SKCE and its kin, UCME, MMCE."""
