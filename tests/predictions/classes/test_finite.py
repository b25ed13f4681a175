import numpy as np
import pytest

import caltest as ct


def test_bases_are_the_classes_of_most_redraws():
    law = ct.Categorical([[0.5, 0.5, 0.0], [0.2, 0.2, 0.6], [0.51, 0.49, 0.0], [0.4, 0.3, 0.3]]).law.finite
    assert law.bases.tolist() == [-1, 2, 0, -1]
    assert law.hits(np.array([0, 2, 1, 0])).tolist() == [True, True, False, True]


@pytest.mark.usefixtures("without_findings")
@pytest.mark.parametrize("family", [ct.Categorical, ct.Ordinal])
def test_columns_of_a_data_frame_name_the_classes_of_a_family(family):
    """By the rule of ``calibration_test``: if the targets are such names, and never in another order."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(4)
    values, labels = rng.dirichlet(np.ones(3), 40), rng.integers(0, 3, 40)
    names = np.array(["low", "middle", "high"])
    frame = pandas.DataFrame(values, columns=names)
    p = family(frame)
    assert p.check_targets(names[labels]).tolist() == labels.tolist()
    assert p.take(slice(0, 9)).check_targets(labels[:9]).tolist() == labels[:9].tolist()
    plain = ct.calibration_test(family(values), labels, n_resamples=19, rng=1)
    for targets in (labels, names[labels], pandas.Series(names[labels])):
        assert ct.calibration_test(p, targets, n_resamples=19, rng=1).pvalue == plain.pvalue
    assert ct.top_label(p, names[labels])[1].tolist() == ct.top_label(values, labels)[1].tolist()
    with pytest.raises(ValueError, match="wanted them in the order of the columns"):
        family(frame, classes=["high", "low", "middle"])
    numbered = family(frame.set_axis([1, 2, 3], axis=1))
    assert numbered.check_targets(labels + 1).tolist() == labels.tolist()
    with pytest.raises(ValueError, match="as well as their places"):
        numbered.check_targets([1, 2])
    assert family(frame, classes=["a", "b", "c"]).check_targets(["c", "a"] * 20)[:2].tolist() == [2, 0]
