"""The centred kernel h and everything computed of it: sums over pairs and their laws, never as an n x n array.

``tiles`` forms h between ranges of a sample, ``pair_tiles`` says which tiles cover all pairs, and ``bound`` is the
supremum of h. The folder ``sums`` adds h up over pairs: ``pairs`` over all, ``binary_line`` and ``features`` in time
proportional to n, for binary predictions and for features of finite length, and ``residuals`` for targets in units of
what was predicted. The folder ``redraws`` does so for many targets of the same predictions, also within clusters. In
``variances``, ``moments``, ``null_variance`` and ``covariance`` are what is known of h given
the predictions, and ``jackknife`` is the standard error of the mean of all pairs.
"""
