"""The centred kernel h and everything computed of it: sums over pairs and their laws, never as an n x n array.

``tiles`` forms h between ranges of a sample, ``pair_tiles`` says which tiles cover all pairs, ``pairs`` adds them up,
``redraws`` does so for many targets of the same predictions (``redraws_of_labels``, ``redraws_of_numbers``), and
``cluster_sums`` within and between clusters. ``binary_line`` and ``features`` need time proportional to n, for binary
predictions and for features of finite length. ``bound``, ``moments``, ``null_variance`` and ``covariance`` are what is
known of h given the predictions; ``jackknife`` is the standard error of the mean of all pairs; ``residuals`` are
targets in units of what was predicted, and h of them.
"""
