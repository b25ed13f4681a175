import numpy as np

import caltest as ct


def test_bases_are_the_classes_of_most_redraws():
    law = ct.Categorical([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.51, 0.49, 0.0], [0.4, 0.3, 0.3]]).law.finite
    assert law.bases.tolist() == [-1, 2, 0, -1]
    assert law.hits(np.array([0, 2, 1, 0])).tolist() == [True, True, False, True]
