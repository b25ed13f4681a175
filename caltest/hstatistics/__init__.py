"""The centred kernel h and everything computed of it: sums over pairs and their laws, never as an n x n array.

``tiles`` forms h between ranges of a sample, ``places`` says which tiles cover all pairs, ``pairs`` adds them up,
``redraws`` does so for many targets of the same predictions (``labels``, ``numbers``). ``lines`` and ``features`` need
time proportional to n, for binary predictions and for features of finite length. ``bound``, ``moments`` and
``covariance`` are what is known of h given the predictions; ``jackknife`` is the standard error of the mean of all
pairs; ``scores`` and ``residuals`` are targets in units of what was predicted, and h of them.
"""
