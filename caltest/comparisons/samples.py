"""Samples of models that are compared: all of one family and for the same outcomes."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

from caltest._basics.arrays import labelled_as
from caltest._basics.calls import are_pvalues_enough
from caltest._basics.numerics import ArrayLike
from caltest._results.report import TOO_SMALL
from caltest._validation import same_length
from caltest.estimators.dependence import cautions_on
from caltest.predictions import Predictions, Sample
from caltest.predictions.censored import Censored, sample_of
from caltest.predictions.ensembles.members import of_equal_size
from caltest.predictions.inputs.labelled import named_one


def samples_of(
    models: Mapping[str, ArrayLike], targets: ArrayLike, classes: Sequence[Any] | None, seed: int = 0
) -> dict[str, Sample]:
    """Samples by name."""
    if not isinstance(models, Mapping):
        of_frame = "; of a frame with a column for each model pass dict(frame)" if hasattr(models, "columns") else ""
        kind = type(models).__name__
        raise TypeError(f'models: got {kind}, wanted a dictionary {{"name": predictions, ...}}{of_frame}')
    if not models:
        raise ValueError('models: got none, wanted at least one {"name": predictions}')
    samples: dict[str, Sample] = {}
    targets = targets if isinstance(targets, Censored) else labelled_as(targets, models.values())
    for name, predictions in models.items():
        if not isinstance(name, str):
            raise TypeError(f"models: got the name {name!r}, wanted names that are strings")
        try:
            samples[name] = sample_of(predictions, targets, classes, seed)
        except (ValueError, TypeError) as error:
            raise type(error)(f"models[{name!r}]: {error}") from None
    return samples


def check_same_kind(samples: dict[str, Sample]) -> None:
    """Raise unless all models are of the same family and length as the first one."""
    first = next(iter(samples.values()))
    known = first.predictions
    for name, sample in samples.items():
        try:
            same_length(len(first), len(sample), "predictions")
            check_family(known, sample.predictions, "predictions")
            known = named_one(known, sample.predictions)
        except (ValueError, TypeError) as error:
            raise type(error)(f"models[{name!r}]: {error}") from None


def check_family(known: Predictions, other: Predictions, name: str) -> None:
    """Raise unless kernels can compare predictions with those that are known; families of numbers have a way out."""
    try:
        known.check_compatible(other, name)
        # Bandwidths are those of all models together.
        one, next_one = of_equal_size([law.take(slice(0, 1)) for law in (known, other)])
        one.followed_by(next_one)
    except TypeError as error:
        if known.discrete or other.discrete:
            raise
        advice = "of other families take draws, ct.Ensemble(p.to_ensemble(100, rng=1).members)"
        if any(getattr(one, "predictions", one).longest < inf for one in (known, other)):
            advice = "give curves of all models at the same times, ct.predictions.SurvivalCurve(times, survival)"
        raise TypeError(f"{error}; {advice}") from None


def notes_of(models: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Notes on some models, each of them once, with the names of those that it is about if these are not all.

    Of signs that rows depend on each other, which are similar for all models, the first stands for all.
    """
    names: dict[str, list[str]] = {}
    for name, notes in models.items():
        for note in dict.fromkeys(notes):
            if note in names or TOO_SMALL not in note or not any(TOO_SMALL in known for known in names):
                names.setdefault(note, []).append(name)
    return tuple(note if len(some) == len(models) else f"{', '.join(some)}: {note}" for note, some in names.items())


def notes_on_models(models: Mapping[str, Sample]) -> tuple[str, ...]:
    """Notes on the data of some models, and signs that their rows depend on each other."""

    def signs(one: Sample) -> tuple[str, ...]:
        return () if are_pvalues_enough() else cautions_on(one, compares=True)

    return notes_of({name: (*signs(one), *one.remarks, *one.predictions.notes) for name, one in models.items()})
