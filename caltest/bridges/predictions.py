"""Fitted models and forecasts of other libraries as predictions; none of the libraries is imported here."""

import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from caltest._basics.arrays import Table, index_of
from caltest._basics.calls import own_errstate
from caltest._basics.numerics import ArrayLike, FloatArray
from caltest._basics.rows import is_number
from caltest._validation import real_array
from caltest._validation.labels import numbers_of, require_order_of
from caltest.predictions import Bernoulli, Categorical, Ensemble, Ordinal, StudentT, SurvivalCurve
from caltest.predictions.base import Predictions
from caltest.predictions.inputs.convert import as_predictions


@own_errstate
def predictions_of(
    model: Any,
    data: Any = None,
    *,
    time: ArrayLike = None,
    variable: str | None = None,
    exposure: ArrayLike = None,
    offset: ArrayLike = None,
) -> Predictions:
    """What a fitted model or a forecast of another library predicts, as predictions for tests.

    Parameters
    ----------
    model
        - Results of statsmodels: of ``GLM`` with a family whose ``get_distribution`` is known here, ``Logit``,
          ``Probit``, ``MNLogit``, ``OrderedModel``, ``Poisson``, ``NegativeBinomial``; of ``OLS`` Student's t of new
          observations, for normal errors of equal spread.
        - A fitted regression of lifelines, with a ``time``: the probability of an event until then; or with several:
          a ``SurvivalCurve`` at these.
        - A model of ngboost, or what its ``pred_dist`` returns.
        - A distribution of skpro: ``Normal``, ``Laplace``, ``LogNormal``, ``Poisson``, ``TDistribution``, those that
          it takes from scipy, such as ``Gamma`` and ``NegativeBinomial``, and ``Empirical``, an ``Ensemble``.
        - ``InferenceData`` of ArviZ, or a ``DataTree``, with a ``variable`` of its group ``predictions``, which are of
          new rows, or without that group of ``posterior_predictive``, or such a group alone: an ``Ensemble`` of all
          draws.
        - Frozen distributions of scipy.stats and torch, and all else that ``ct.calibration_test`` takes.
    data
        New rows for models, as their ``predict`` takes them, which were not used in the fit; required for them.
    time
        Until when the event happens, or increasing times of survival curves.
    variable
        Name of the variable; default: the only one.
    exposure, offset
        Those of the new rows (n,), for models of statsmodels that were fitted with some; required for them.

    Returns
    -------
    Predictions
        One for each row, with the labels of the rows of pandas or xarray, by which outcomes are matched. Classes have
        the names that statsmodels knows, else the numbers that the library gives them.

    Raises
    ------
    ValueError, TypeError
        Without data, time, variable, exposure or offset where one is needed, for columns of data in another order than
        those of a model that takes them by position, and for objects that are not known.

    Notes
    -----
    But for ``OLS`` predictions take the fitted parameters as they are, without their uncertainty: with few rows that is
    a fault, which tests find. Draws of a Markov chain that follow each other are dependent; ``Ensemble.thinned(step)``
    keeps some.

    Examples
    --------
    >>> import numpy as np
    >>> import statsmodels.api as sm
    >>> import caltest as ct
    >>> rng = np.random.default_rng(1)
    >>> X = sm.add_constant(rng.normal(size=(300, 1)))
    >>> y = rng.poisson(np.exp(X @ [0.5, 0.3]))
    >>> fitted = sm.GLM(y[:200], X[:200], family=sm.families.Poisson()).fit()
    >>> ct.bridges.predictions_of(fitted, X[200:])
    <Poisson, n = 100>
    """
    library = type(model).__module__.partition(".")[0]
    known: dict[str, Callable[[], Predictions]] = {
        "statsmodels": lambda: _of_statsmodels(model, data, {"exposure": exposure, "offset": offset}),
        "lifelines": lambda: _of_lifelines(model, data, time),
        "ngboost": lambda: _of_ngboost(model, data),
        "skpro": lambda: _of_skpro(model),
        "arviz": lambda: _of_arviz(model, variable),
    }
    if type(model).__name__ in ("DataTree", "Dataset"):  # of xarray: in ArviZ 1 InferenceData; a group of either
        library = "arviz"
    if library not in known:
        return as_predictions(model)
    found = known[library]()
    index = index_of(model if data is None else data)
    return found if index is None else found._labelled(index)


def _given(name: str, value: Any) -> Any:
    if value is None:
        wanted = {
            "data": "new rows, as predict of the model takes them",
            "time": "a time until which the event happens or not, or several for survival curves",
        }
        raise ValueError(f"{name}: got None, wanted {wanted[name]}")
    return value


def _unknown(model: Any) -> TypeError:
    advice = "its probabilities (n, k), a frozen distribution of scipy.stats, or m draws from each prediction: "
    advice += "ct.Ensemble(draws)"
    if hasattr(model, "predict_proba"):
        advice = "what its predict_proba returns for new rows"
    kind = f"{type(model).__module__}.{type(model).__name__}"
    return TypeError(f"model: got {kind}, which is not known here; pass {advice}")


def _of_statsmodels(results: Any, data: Any, terms: dict[str, ArrayLike]) -> Predictions:
    inner: Any = getattr(results, "model", None)
    kind = type(inner).__name__
    # A forecast; models of which ``predict`` or ``get_distribution`` takes something else.
    if not hasattr(results, "predict") or kind in ("GLMGam", "PHReg"):
        raise _unknown(results)
    _check_columns(inner, _given("data", data))
    if kind == "OLS" and hasattr(results, "get_prediction"):
        forecast = results.get_prediction(data)
        return StudentT(results.df_resid, forecast.predicted_mean, forecast.se_obs)
    of_rows, family = _terms(inner, data, terms), getattr(inner, "family", None)
    if kind == "OrderedModel":
        return Ordinal(np.asarray(results.predict(data, **of_rows)), classes=_class_names(inner.labels))
    if kind == "MNLogit":
        names = getattr(inner, "_ynames_map", {})
        return Categorical(np.asarray(results.predict(data)), classes=_class_names(names.values()))
    if kind in ("Logit", "Probit") or type(family).__name__ == "Binomial":
        probability = np.asarray(results.predict(data, **of_rows))
        # Of booleans and text formulas model the first of two classes; here it is the second.
        levels = [re.fullmatch(r"(.*)\[(.*)\]", str(name)) for name in np.ravel(inner.endog_names)]
        if len(levels) != 2 or None in levels:
            return Bernoulli(probability)
        return Bernoulli(1.0 - probability, classes=_class_names(level[2] for level in levels if level))
    if kind == "GLM" and hasattr(family, "get_distribution"):
        if np.any(np.not_equal(inner.var_weights, 1.0)):
            raise ValueError(
                "model: got a GLM that was fitted with var_weights, wanted one without: the spread of new rows depends "
                "on theirs; pass the distributions themselves, such as ct.Normal(mean, scale)"
            )
        # That of the results takes exposure for another argument.
        exog, _ = results._transform_predict_exog(data)
        return as_predictions(inner.get_distribution(results.params, results.scale, exog=exog, **of_rows))
    if kind in ("GLM", "GEE") or not hasattr(results, "get_distribution"):
        raise _unknown(results)
    return as_predictions(results.get_distribution(data, **of_rows))


def _check_columns(model: Any, data: Any) -> None:
    """Raise ``ValueError`` for a data frame whose columns statsmodels, without a formula, would take by position."""
    columns = [str(name) for name in getattr(data, "columns", ())]
    if not hasattr(model, "formula"):
        wanted = getattr(model, "exog_names", None) or ()
        require_order_of([name for name in wanted if name in columns], columns, "data", "model")


def _terms(model: Any, data: Any, given: dict[str, ArrayLike]) -> dict[str, FloatArray]:
    """Exposure and offset of the rows of the data; ``ValueError`` without one that the model was fitted with.

    statsmodels predicts new rows without those then.
    """
    order = Table(np.empty(0), index=index_of(data))
    terms = {}
    for name, values in given.items():
        if values is not None:
            rows, _ = Table.of(values, name).in_order_of(order, name, "data")
            terms[name] = real_array(rows.array(name), name, ndim=1)
        elif getattr(model, name, None) is not None:
            raise ValueError(f"{name}: got None for a model that was fitted with some, wanted that of each new row")
    return terms


def _class_names(names: Iterable[Any]) -> list[Any] | None:
    """Classes as outcomes name them, with numbers for their text; None for 0, 1, ..., and for false and true."""
    text = [str(name) for name in names]
    found: list[Any] | None = numbers_of(text) if all(map(is_number, text)) else text
    return None if found in (list(range(len(text))), ["False", "True"]) else found


def _of_lifelines(fitter: Any, data: Any, time: ArrayLike) -> Predictions:
    if not hasattr(fitter, "predict_survival_function"):
        raise _unknown(fitter)
    times = np.atleast_1d(_given("time", time))
    found = fitter.predict_survival_function(_given("data", data), times=times)
    # Additive models of Aalen give steps at all times of the fit, whatever is asked.
    steps = np.searchsorted(np.asarray(found.index), times, side="right")
    curves = np.vstack([np.ones(found.shape[1]), found])[steps].T
    return Bernoulli(1.0 - curves[:, 0]) if np.ndim(time) == 0 else SurvivalCurve(times, curves)


def _of_ngboost(model: Any, data: Any) -> Predictions:
    forecast = model.pred_dist(_given("data", data)) if hasattr(type(model), "pred_dist") else model
    if hasattr(type(forecast), "class_probs"):
        return Categorical(np.asarray(forecast.class_probs()))
    if not hasattr(forecast, "dist"):
        raise _unknown(forecast)
    return as_predictions(forecast.dist)


SKPRO = {
    "Normal": ("Normal", "mu", "sigma"),
    "Laplace": ("Laplace", "mu", "scale"),
    "LogNormal": ("LogNormal", "mu", "sigma"),
    "Poisson": ("Poisson", "mu"),
    "TDistribution": ("StudentT", "df", "mu", "sigma"),
}
"""Families here of distributions of skpro, and their parameters there in the order of the arguments here."""


def _of_skpro(forecast: Any) -> Predictions:
    from caltest import predictions

    name, shape = type(forecast).__name__, tuple(getattr(forecast, "shape", ()))
    if len(shape) == 2 and shape[1] != 1:
        raise ValueError(f"model: got {name} of {shape[1]} columns, wanted one; test one column at a time")

    def rows(values: Any) -> FloatArray:
        return np.broadcast_to(np.asarray(values, dtype=np.float64), shape).ravel()

    if name in SKPRO:
        family, *names = SKPRO[name]
        made: Predictions = getattr(predictions, family)(*(rows(getattr(forecast, one)) for one in names))
        return made
    if hasattr(forecast, "_get_scipy_param"):
        args, kwds = forecast._get_scipy_param()
        frozen = forecast._get_scipy_object()(*map(rows, args), **{one: rows(kwds[one]) for one in kwds})
        return as_predictions(frozen)
    if name == "Empirical" and forecast.weights is None and shape:
        return Ensemble(forecast.spl.iloc[:, 0].unstack(0).loc[forecast.index].to_numpy())
    raise _unknown(forecast)


def _of_arviz(data: Any, variable: str | None) -> Predictions:
    kind = next((one for one in ("predictions", "posterior_predictive") if one in data), None)
    if len(getattr(data, "data_vars", ())):
        kind, group = "the group", data
    elif kind is not None:
        group = data[kind]
    else:
        found = ", ".join(data.children if hasattr(data, "children") else data.groups()) or "none"
        raise ValueError(f"model: got groups {found}, wanted predictions or posterior_predictive, draws of outcomes")
    names = list(group.data_vars)
    if variable is None and len(names) == 1:
        variable = names[0]
    if variable not in names:
        raise ValueError(f"variable: got {variable!r}, wanted one of {kind}: {', '.join(names)}")
    if not {"chain", "draw"} <= set(group[variable].dims):
        raise ValueError(f"variable: got dimensions {group[variable].dims} of {variable}, wanted chain and draw")
    draws = group[variable].transpose(..., "chain", "draw")
    index = index_of(draws)
    # Rows without labels of their own are numbered.
    labels = None if index is None or list(index) == list(range(len(index))) else index
    return Ensemble(draws.to_numpy().reshape(-1, draws.shape[-2] * draws.shape[-1]))._labelled(labels)
