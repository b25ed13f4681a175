"""GPcalib: recalibration by one latent Gaussian process of all classes (Wenger, Kjellstrom and Triebel 2020)."""
