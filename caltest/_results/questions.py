"""What a test asks, and its answers, in words."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Question:
    """A null hypothesis, and what is said if it is rejected and if it is not; levels stand for ``{level}``."""

    null: str
    rejected: str
    kept: str


QUESTIONS = {
    "calibration": Question(
        "the predictions are calibrated",
        "reject calibration {level}: the predictions cannot be taken at face value",
        "no evidence against calibration {level}",
    ),
    "tolerance": Question(
        "the calibration error is at most the margin",
        "the calibration error is above the margin, {level}",
        "no evidence that the calibration error is above the margin, {level}",
    ),
    "equivalence": Question(
        "the calibration error is at least the margin",
        "the calibration error is below the margin, {level}",
        "no evidence that the calibration error is below the margin, {level}",
    ),
    "difference": Question(
        "both models have the same calibration error",
        "the calibration errors of the models differ, {level}",
        "no evidence that the calibration errors of the models differ, {level}",
    ),
}
