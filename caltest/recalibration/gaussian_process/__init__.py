"""GPcalib: recalibration by one latent Gaussian process that all classes share (Wenger, Kjellstrom and Triebel 2020)."""
