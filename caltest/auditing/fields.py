"""What an audit says beside its sections to readers of one field."""

import numpy as np

from caltest._results.calibration_test_result import CalibrationTestResult
from caltest.auditing.pictures import Picture, drawn
from caltest.auditing.sections import Data, Make, Section


def of_clinic(data: Data, result: CalibrationTestResult) -> Section:
    """The measures of TRIPOD+AI and the decision curve."""
    from caltest.fields import clinical

    predictions, y = data.sample.predictions, np.asarray(data.sample.targets)
    law = predictions.finite
    found = clinical.validate(predictions, data.sample.as_given, n_resamples=data.n_resamples, rng=data.seed)
    risks = np.unique(np.quantile(law.probabilities[:, 1], [0.5, 0.75, 0.9]).round(2)) if law is not None else ()
    thresholds = [risk for risk in np.asarray(risks).tolist() if 0.0 < risk < 1.0]
    pictures: list[Picture] = []
    facts = {"P-values": found.remarks()[0]}
    try:
        words = "calibration curve of the predicted risks, with the band of calibrated models"
        pictures.append(drawn(lambda ax: found.plot(ax=ax), words))
        if thresholds:
            decisions = clinical.decision_curve(
                predictions, data.sample.as_given, thresholds, n_resamples=99, rng=data.seed
            )
            facts["Decisions"] = decisions.verdict()
            drawing = "decision curve: net benefit of treating by predicted risk, and what recalibration would add"
            pictures.append(drawn(lambda ax: decisions.plot(ax=ax), drawing))
    except ImportError:
        pass
    ratio = found.row("O:E ratio")
    assert ratio.interval is not None
    answer = (
        f"{int(y.sum())} events occurred and {found.expected:.4g} were expected, O:E {ratio.value:.3g} "
        f"({ratio.interval.low:.3g} to {ratio.interval.high:.3g})."
    )
    return Section(answer, facts, rows=tuple(map(tuple, found.table())), pictures=tuple(pictures))


FIELDS: dict[str, tuple[str, Make]] = {
    "clinical": ("What do reports of clinical prediction models ask for?", of_clinic)
}
"""Names of the fields, and the question and the answer that each adds."""
