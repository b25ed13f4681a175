"""What is computed for each row of a comparison."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from caltest._basics.numerics import seed_of
from caltest._results.calibration_test_result import CalibrationTestResult
from caltest._results.confidence_interval import ConfidenceInterval
from caltest._validation import fraction, whole_number
from caltest.calibration_test import CalibrationTest
from caltest.comparisons.model_comparison import ComparedModel, ModelComparison
from caltest.estimators import SKCE, Estimator
from caltest.estimators.kernel_errors.default_kernel import shared_kernel
from caltest.intervals.jackknife import jackknife_interval
from caltest.intervals.noise_floor import NoiseFloor, noise_floor
from caltest.kernels import PairKernel
from caltest.named_tests.kernels import MonteCarloTest, OmnibusTest
from caltest.predictions import Sample


@dataclass(frozen=True)
class Settings:
    """What is done with each row."""

    estimator: Estimator
    test: CalibrationTest
    n_resamples: int
    confidence_level: float

    @classmethod
    def of(
        cls,
        samples: list[Sample],
        kernel: PairKernel | None,
        estimator: Estimator | None,
        test: CalibrationTest | None,
        n_resamples: int,
        confidence_level: float,
    ) -> "Settings":
        """Defaults where nothing is given, with a kernel of all models."""
        if estimator is not None and not isinstance(estimator, Estimator):
            raise TypeError(f"estimator: got {type(estimator).__name__}, wanted an estimator such as SKCE(kernel)")
        if test is not None and not isinstance(test, CalibrationTest):
            raise TypeError(f"test: got {type(test).__name__}, wanted a test such as OmnibusTest()")
        number, level = whole_number("n_resamples", n_resamples, 1), fraction("confidence_level", confidence_level)
        if estimator is None or test is None:
            shared = shared_kernel(kernel, [sample.predictions for sample in samples])
            estimator = SKCE(shared) if estimator is None else estimator
            if test is None and kernel is None:
                assert shared.single is not None
                test = OmnibusTest(shared.single, number)
            elif test is None:
                test = MonteCarloTest(SKCE(shared), number)
        return cls(estimator, test, number, level)


def compared(
    samples: dict[str, Sample],
    scores: list[float | None] | list[float],
    settings: Settings,
    kind: str,
    score_name: str,
    rng: Any,
    progress: bool,
) -> ModelComparison:
    """Test every row, estimate its error, and adjust the p-values."""
    from statsmodels.stats.multitest import multipletests

    seed = seed_of(rng)
    results, estimates = [], []
    for (name, sample), stream in zip(samples.items(), np.random.SeedSequence(seed).spawn(len(samples)), strict=True):
        try:
            results.append(settings.test.on(sample, rng=stream, progress=progress))
            estimates.append(_estimated(sample, settings, stream.spawn(1)[0], progress))
        except (ValueError, TypeError) as error:
            raise type(error)(f"{kind} {name!r}: {error}") from None
    pvalues = [result.pvalue for result in results]
    adjusted = [multipletests(pvalues, method=method)[1] for method in ("holm", "fdr_bh")]
    rows = [
        ComparedModel(
            name=name,
            score=score,
            estimate=estimate.value,
            interval=estimate.interval,
            noise_floor=estimate.floor.mean,
            noise_quantile=estimate.floor.quantile,
            pvalue=result.pvalue,
            pvalue_holm=float(holm),
            pvalue_bh=float(bh),
            finding=result.finding,
            pvalue_otherwise=result.pvalue_otherwise,
        )
        for name, score, estimate, result, holm, bh in zip(samples, scores, estimates, results, *adjusted, strict=True)
    ]
    first = next(iter(samples.values()))
    return ModelComparison(
        rows=tuple(rows),
        kind=kind,
        score_name=score_name,
        test=f"{results[0].test}, {results[0].null}",
        estimator=settings.estimator.resolve(first.predictions).describe(first.predictions),
        n=len(first),
        confidence_level=settings.confidence_level,
        seed=seed,
        notes=_notes(samples, results),
        n_resamples=results[0].n_resamples,
        citations=tuple(
            sorted({"benjamini1995", "efron1981", "holm1979", *settings.test.citations, *settings.estimator.citations})
        ),
    )


class _Estimated(NamedTuple):
    value: float
    interval: ConfidenceInterval | None
    floor: NoiseFloor


def _estimated(sample: Sample, settings: Settings, rng: Any, progress: bool) -> _Estimated:
    estimator, number = settings.estimator, settings.n_resamples
    floor = noise_floor(sample.predictions, estimator, n_resamples=number, rng=rng, progress=progress)
    resolved = estimator.resolve(sample.predictions, floor.seed)
    interval = _interval(resolved, sample, settings.confidence_level, floor.seed)
    return _Estimated(resolved.estimate(sample), interval, floor)


def _interval(estimator: Estimator, sample: Sample, level: float, rng: Any) -> ConfidenceInterval | None:
    """The jackknife interval, where the estimator has one and h varies."""
    if not isinstance(estimator, SKCE) or not estimator.unbiased or len(sample) < 3:
        return None
    return jackknife_interval(estimator.kernel, sample, level, "two-sided", rng)


def _notes(samples: dict[str, Sample], results: list[CalibrationTestResult]) -> tuple[str, ...]:
    """What the results say, once if all say the same, else with the name."""
    if len({result.notes for result in results}) == 1:
        return results[0].notes
    return tuple(f"{name}: {note}" for name, result in zip(samples, results, strict=True) for note in result.notes)
