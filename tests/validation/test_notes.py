"""Notes of parts are said once."""

import numpy as np

import caltest as ct
from caltest._validation.notes import once


def test_of_notes_that_differ_in_a_number_the_largest_is_kept():
    notes = ["off by 9e-06", "rounded", "off by 1e-05", "off by 2e-06", "rounded", "of 3 rows 12 are off", "of 3 rows"]
    assert once(*notes) == ("off by 1e-05", "rounded", "of 3 rows 12 are off", "of 3 rows")
    assert once() == ()


def test_chunks_of_rounded_rows_have_one_note():
    p = np.random.default_rng(1).dirichlet(np.ones(3), 60)
    p[::20] *= np.array([1.00002, 1.00005, 1.00003])[:, None]
    y, whole = np.zeros(60, dtype=int), ct.Categorical(p)
    assert len(whole.notes) == 1
    accumulator, sequential = ct.LogScoreTest().accumulator(), ct.SequentialCalibrationTest()
    for start in (0, 20, 40):
        accumulator.update(p[start : start + 20], y[start : start + 20])
        sequential.update(p[start : start + 20], y[start : start + 20])
    joined = ct.Categorical(p[:20]).followed_by(ct.Categorical(p[20:]))
    assert joined.notes == whole.notes
    for result in (accumulator.result(), sequential.result()):
        assert [note for note in result.notes if "renormalised" in note] == list(whole.notes)
