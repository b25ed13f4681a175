"""Pictures of calibration. They need matplotlib: ``pip install caltest[plots]``.

Each is drawn into ``ax``, by default those of a new figure, and returns them. Where several models can share axes,
``label`` and ``color`` are those of one, and there is one legend. All raise what ``reliability_diagram`` does.
"""

from caltest._basics import offered as _offered
from caltest.plots._axes import save as save
from caltest.plots.curves import (
    evidence as evidence,
    latent_function as latent_function,
    power_curve as power_curve,
    risk_curves as risk_curves,
)
from caltest.plots.grids import (
    classwise_reliability as classwise_reliability,
    groupwise_reliability as groupwise_reliability,
    recalibration_report as recalibration_report,
)
from caltest.plots.reliability import (
    calibration_belt as calibration_belt,
    reliability_curve as reliability_curve,
    reliability_diagram as reliability_diagram,
)
from caltest.plots.results import (
    clinical_curve as clinical_curve,
    decision_curve as decision_curve,
    forest as forest,
    null_histogram as null_histogram,
    rank_ecdf as rank_ecdf,
    verification as verification,
)
from caltest.plots.scores import murphy_diagram as murphy_diagram, score_plane as score_plane
from caltest.plots.simplex import simplex_map as simplex_map
from caltest.plots.transforms import (
    coverage_curve as coverage_curve,
    pit_histogram as pit_histogram,
    residual_spread as residual_spread,
    windows as windows,
)

__all__ = _offered(globals())
