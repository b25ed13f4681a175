import numpy as np
from scipy import stats

from caltest._loops.uniforms import fill_uniforms, mixed, row_state, row_states, uniform


def drawn(seed, rows, redraws):
    states = [np.uint64(row_state(np.uint64(seed), row)) for row in rows]
    return np.array([[uniform(state, b) for b in redraws] for state in states])


def test_numbers_are_those_of_splitmix64():
    # The first three of the authors' generator started at 1234567.
    state, step = np.uint64(1234567), np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):
        numbers = [int(mixed(state + np.uint64(i) * step)) for i in (1, 2, 3)]
    assert numbers == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_numbers_look_uniform_and_independent_across_rows_redraws_and_seeds():
    u = drawn(1, range(400), range(400))
    assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-3
    for other in (u[1:], u[:, 1:], drawn(2, range(400), range(400))):
        rows, columns = other.shape
        r = np.corrcoef(u[:rows, :columns].ravel(), other.ravel())[0, 1]
        assert abs(r) * np.sqrt(other.size) < 4.0
    assert np.unique(u).size == u.size


def test_the_number_of_a_row_does_not_depend_on_the_others():
    np.testing.assert_array_equal(drawn(5, [7, 10**12], [3])[0], drawn(5, [7], [3])[0])


def test_numbers_of_later_redraws_are_filled_in():
    states, found = np.empty(5, dtype=np.uint64), np.empty((3, 5))
    row_states(np.uint64(5), np.arange(5), states)
    fill_uniforms(states, 7, found)
    np.testing.assert_array_equal(found, drawn(5, range(5), range(7, 10)).T)


def test_a_number_of_0_is_filled_in_as_half_of_the_smallest_other_one():
    """The mixed state 0 is 0: that of the first redraw, or of the third."""
    for redraw in (0, 2):
        states, found = np.array([-(redraw + 1) * 0x9E3779B97F4A7C15 % 2**64], dtype=np.uint64), np.empty((1, 1))
        assert uniform(states[0], redraw) == 0.0
        fill_uniforms(states, redraw, found)
        assert found.item() == 2.0**-54
