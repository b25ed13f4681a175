import pytest

from caltest.predictions.faults.classes.claims import claim_in_words


@pytest.mark.parametrize(
    ("claim", "words"),
    [
        (0.0, "0.00"),
        (1.0, "1.00"),
        (0.005, "0.01"),
        (0.995, "0.99"),
        (0.00123, "0.0012"),
        (0.996, "0.996"),
        (0.99987, "0.99987"),
        (0.5, "0.50"),
    ],
)
def test_claims_have_two_digits_or_those_that_tell_them_from_0_and_1(claim, words):
    assert claim_in_words(claim) == words
