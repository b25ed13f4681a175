"""Models of other libraries, each beside what the library itself says; those that are missing are skipped."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from samples import inference_data

import caltest as ct
from caltest.bridges import predictions_of

RNG = np.random.default_rng(1)
N = 200
X = np.column_stack([np.ones(2 * N), RNG.normal(size=(2 * N, 2))])
NEW = X[N:]
ETA = X @ [0.3, 0.4, -0.3]


def library(name):
    return pytest.importorskip(name, reason=f"{name} is missing")


def glm(family, y, **settings):
    sm = library("statsmodels.api")
    return sm.GLM(y[:N], X[:N], family=getattr(sm.families, family)(**settings)).fit()


def test_generalised_linear_models():
    gaussian = glm("Gaussian", ETA + RNG.normal(size=2 * N))
    found = predictions_of(gaussian, NEW)
    assert isinstance(found, ct.Normal)
    np.testing.assert_allclose(found.mean, gaussian.predict(NEW))
    np.testing.assert_allclose(found.scale**2, gaussian.scale)
    poisson = glm("Poisson", RNG.poisson(np.exp(ETA)))
    np.testing.assert_allclose(predictions_of(poisson, NEW).rate, poisson.predict(NEW))
    binomial = glm("Binomial", RNG.random(2 * N) < 1 / (1 + np.exp(-ETA)))
    found = predictions_of(binomial, NEW)
    assert isinstance(found, ct.Bernoulli)
    np.testing.assert_allclose(found.probability, binomial.predict(NEW))
    gamma = glm("Gamma", RNG.gamma(3.0, np.exp(ETA) / 3.0), link=library("statsmodels.api").families.links.Log())
    found = predictions_of(gamma, NEW)
    assert isinstance(found, ct.Gamma)
    np.testing.assert_allclose(found.cdf(np.ones(N)), gamma.get_distribution(NEW).cdf(1.0))
    negative = glm("NegativeBinomial", RNG.negative_binomial(2, 2 / (2 + np.exp(ETA))), alpha=0.5)
    found = predictions_of(negative, NEW)
    assert isinstance(found, ct.NegativeBinomial)
    np.testing.assert_allclose(found.mean, negative.predict(NEW))


def test_least_squares():
    """Student's t of new observations, whose intervals are those of the library."""
    sm, formulas = library("statsmodels.api"), library("statsmodels.formula.api")
    y = ETA + RNG.normal(size=2 * N)
    fitted = sm.OLS(y[:9], X[:9]).fit()
    ends = fitted.get_prediction(NEW).summary_frame(alpha=0.1)
    found = predictions_of(fitted, NEW)
    np.testing.assert_allclose(found.quantile(np.full(N, 0.05)), ends["obs_ci_lower"])
    np.testing.assert_allclose(found.quantile(np.full(N, 0.95)), ends["obs_ci_upper"])
    frame = pd.DataFrame({"x": X[:, 1], "z": X[:, 2], "y": y})
    found = predictions_of(formulas.ols("y ~ x + z", frame[:9]).fit(), frame[N:])
    np.testing.assert_allclose(found.quantile(np.full(N, 0.05)), ends["obs_ci_lower"])
    with pytest.raises(TypeError, match="PredictionResults, which is not known here"):
        predictions_of(fitted.get_prediction(NEW))


def test_formulas_take_data_frames():
    formulas, families = library("statsmodels.formula.api"), library("statsmodels.api").families
    frame = pd.DataFrame({"x": X[:, 1], "site": np.where(X[:, 2] > 0.0, "a", "b"), "y": RNG.poisson(np.exp(ETA))})
    new = frame[N:]
    for family in (families.Gaussian(), families.Poisson()):
        fitted = formulas.glm("y ~ x + site", frame[:N], family=family).fit()
        np.testing.assert_allclose(predictions_of(fitted, new).mean, fitted.predict(new))
    fitted = formulas.poisson("y ~ x + site", frame[:N]).fit(disp=0)
    np.testing.assert_allclose(predictions_of(fitted, new).rate, fitted.predict(new))


def test_discrete_models():
    sm = library("statsmodels.api")
    y = (RNG.random(2 * N) < 1 / (1 + np.exp(-ETA))).astype(int)
    for kind in (sm.Logit, sm.Probit):
        fitted = kind(y[:N], X[:N]).fit(disp=0)
        np.testing.assert_allclose(predictions_of(fitted, NEW).probability, fitted.predict(NEW))
    labels = RNG.integers(0, 3, 2 * N)
    fitted = sm.MNLogit(labels[:N], X[:N]).fit(disp=0)
    found = predictions_of(fitted, NEW)
    assert isinstance(found, ct.Categorical)
    np.testing.assert_allclose(found.probabilities, fitted.predict(NEW))
    counts = RNG.poisson(np.exp(ETA))
    fitted = sm.Poisson(counts[:N], X[:N]).fit(disp=0)
    np.testing.assert_allclose(predictions_of(fitted, NEW).rate, fitted.predict(NEW))
    ordered = library("statsmodels.miscmodels.ordinal_model").OrderedModel(labels[:N], X[:N, 1:], distr="logit")
    fitted = ordered.fit(method="bfgs", disp=0)
    found = predictions_of(fitted, NEW[:, 1:])
    assert isinstance(found, ct.Ordinal)
    np.testing.assert_allclose(found.probabilities, fitted.predict(NEW[:, 1:]))
    with pytest.raises(ValueError, match="data: got None, wanted new rows"):
        predictions_of(fitted)


@pytest.mark.usefixtures("without_findings")
def test_labels_of_rows_are_kept():
    """Outcomes are matched by them, as with the predictions that the libraries return themselves."""
    formulas, families = library("statsmodels.formula.api"), library("statsmodels.api").families
    frame = pd.DataFrame({"x": X[:, 1], "y": RNG.poisson(np.exp(ETA))})
    new = frame[N:].sample(frac=1.0, random_state=1)
    fits = [
        formulas.glm("y ~ x", frame[:N], family=families.Poisson()).fit(),
        formulas.poisson("y ~ x", frame[:N]).fit(disp=0),
        formulas.ols("y ~ x", frame[:N]).fit(),
    ]
    curves = pd.DataFrame(np.full((1, N), 0.5), index=[2.0])
    cox = stand_in("lifelines", "CoxPHFitter", predict_survival_function=lambda self, data, times: curves)
    forecast = stand_in("skpro", "Normal", shape=(N, 1), mu=0.0, sigma=1.0, index=new.index)
    boosted = stand_in("ngboost", "NGBClassifier", pred_dist=lambda self, data: classes)
    classes = stand_in("ngboost", "k_categorical", class_probs=lambda self: np.full((N, 2), 0.5))
    made = [*(predictions_of(one, new) for one in fits), predictions_of(cox, new, time=2.0)]
    for found in (*made, predictions_of(boosted, new), predictions_of(forecast)):
        assert found.index.equals(new.index)
    outcomes = new["y"].sort_index()
    result = ct.calibration_test(made[0], outcomes, n_resamples=9, rng=1)
    assert result.notes[0].startswith("predictions and targets were matched by their index")
    in_order = ct.Poisson(fits[0].predict(new).sort_index().to_numpy())
    assert result.statistic == ct.calibration_test(in_order, outcomes, n_resamples=9, rng=1).statistic


def test_labels_of_draws_are_kept_but_numbers_of_rows():
    xarray = library("xarray")
    draws = RNG.normal(size=(2, 5, 3))
    for labels, kept in ((["c", "a", "b"], True), ([0, 1, 2], False)):
        group = xarray.Dataset({"y": (("chain", "draw", "row"), draws)}, coords={"row": labels})
        found = predictions_of(xarray.DataTree.from_dict({"posterior_predictive": group}))
        assert (found.index is not None) == kept


def test_names_of_classes_are_those_of_the_model():
    sm, formulas = library("statsmodels.api"), library("statsmodels.formula.api")
    ordered = library("statsmodels.miscmodels.ordinal_model").OrderedModel
    codes = RNG.integers(0, 3, 2 * N)
    sizes = np.array(["small", "medium", "large"])
    frame = pd.DataFrame({"x": X[:, 1], "size": pd.Categorical(sizes[codes], sizes, ordered=True)})
    fitted = ordered.from_formula("size ~ x", frame[:N], distr="logit").fit(method="bfgs", disp=0)
    assert predictions_of(fitted, frame[N:]).classes == tuple(sizes)
    names = {"size": sizes[codes], "grade": codes + 1, "class": codes}
    wanted = {"size": tuple(sorted(sizes)), "grade": (1, 2, 3), "class": None}
    for name, values in names.items():
        fitted = sm.MNLogit(values[:N], X[:N]).fit(disp=0)
        assert predictions_of(fitted, NEW).classes == wanted[name]
    # Of text and booleans formulas model the first class.
    frame["died"] = RNG.random(2 * N) < 1.0 / (1.0 + np.exp(-2.0 * X[:, 1]))
    frame["state"] = np.where(frame["died"], "dead", "alive")
    for outcome, classes in (("died", None), ("state", ("alive", "dead"))):
        fitted = formulas.glm(f"{outcome} ~ x", frame[:N], family=sm.families.Binomial()).fit()
        found = predictions_of(fitted, frame[N:])
        assert found.classes == classes
        labels = found.check_targets(frame[outcome][N:])
        assert np.corrcoef(found.probability, labels)[0, 1] > 0.3
    counts = formulas.glm("a + b ~ x", frame[:N].assign(a=codes[:N], b=1), family=sm.families.Binomial()).fit()
    assert predictions_of(counts, frame[N:]).classes is None


def test_models_with_exposure_need_that_of_new_rows():
    sm, formulas = library("statsmodels.api"), library("statsmodels.formula.api")
    time = RNG.uniform(0.5, 4.0, 2 * N)
    rows = [f"row {i}" for i in range(2 * N)]
    frame = pd.DataFrame({"x": X[:, 1], "time": time, "y": RNG.poisson(time * np.exp(ETA))}, index=rows)
    new, family = frame[N:], sm.families.Poisson()
    fitted = formulas.glm("y ~ x", frame[:N], family=family, exposure=frame["time"][:N]).fit()
    with pytest.raises(ValueError, match="exposure: got None for a model that was fitted with some"):
        predictions_of(fitted, new)
    wanted = fitted.predict(new, exposure=new["time"])
    np.testing.assert_allclose(predictions_of(fitted, new, exposure=new["time"]).rate, wanted)
    np.testing.assert_allclose(predictions_of(fitted, new, exposure=new["time"][::-1]).rate, wanted)
    fitted = sm.Poisson(frame["y"][:N], X[:N], offset=np.log(time[:N])).fit(disp=0)
    with pytest.raises(ValueError, match="offset: got None"):
        predictions_of(fitted, NEW)
    found = predictions_of(fitted, NEW, offset=np.log(time[N:]))
    np.testing.assert_allclose(found.rate, fitted.predict(NEW, offset=np.log(time[N:])))


def test_columns_that_a_model_takes_by_position():
    sm = library("statsmodels.api")
    frame = pd.DataFrame(X, columns=["const", "dose", "age"])
    fitted = sm.GLM(RNG.poisson(np.exp(ETA[:N])), frame[:N], family=sm.families.Poisson()).fit()
    assert len(predictions_of(fitted, frame[N:])) == N
    with pytest.raises(ValueError, match=r"wanted them in the order of the model, \['const', 'dose', 'age'\]$"):
        predictions_of(fitted, frame.loc[N:, ["age", "dose", "const"]])


def test_models_without_a_distribution():
    sm, formulas = library("statsmodels.api"), library("statsmodels.formula.api")
    frame = pd.DataFrame({"x": X[:, 1], "y": RNG.poisson(np.exp(ETA)), "site": np.arange(2 * N) % 20})
    fits = [
        glm("Tweedie", RNG.gamma(1.0, np.exp(ETA)), var_power=1.5, link=sm.families.links.Log()),
        formulas.gee("y ~ x", "site", frame[:N], family=sm.families.Poisson()).fit(),
        formulas.ols("y ~ x", frame[:N]).fit_regularized(alpha=0.1),
    ]
    for fitted, new in zip(fits, (NEW, frame[N:], frame[N:]), strict=True):
        with pytest.raises(TypeError, match="which is not known here; pass its probabilities"):
            predictions_of(fitted, new)


@pytest.mark.usefixtures("without_findings")
def test_a_wrong_variance_is_found_and_a_right_one_is_not():
    y = 2.0 * RNG.negative_binomial(1, 0.3, 2 * N)
    fitted = glm("Poisson", y)
    assert ct.calibration_test(predictions_of(fitted, NEW), y[N:], n_resamples=99, rng=1).pvalue == 0.01
    y = np.random.default_rng(2).poisson(np.exp(ETA))
    assert ct.calibration_test(predictions_of(glm("Poisson", y), NEW), y[N:], n_resamples=99, rng=1).pvalue > 0.05


def test_survival_regressions():
    pandas, lifelines = library("pandas"), library("lifelines")
    table = pandas.DataFrame({"x": X[:, 1], "time": RNG.exponential(np.exp(X[:, 1])), "event": 1})
    for fitter in (lifelines.CoxPHFitter(), lifelines.WeibullAFTFitter()):
        fitter.fit(table[:N], "time", "event")
        found = predictions_of(fitter, table[N:], time=1.0)
        wanted = 1.0 - fitter.predict_survival_function(table[N:], times=[1.0]).to_numpy()[0]
        np.testing.assert_allclose(found.probability, wanted)
    assert ct.calibration_test(found, table["time"][N:].to_numpy() <= 1.0, n_resamples=99, rng=1).pvalue > 0.01
    curves = predictions_of(fitter, table[N:], time=np.linspace(0.1, 5.0, 30))
    seen = ct.Censored(np.minimum(table["time"][N:], 2.0), table["time"][N:] <= 2.0)
    assert ct.calibration_test(curves, seen, n_resamples=99, rng=1).pvalue > 0.01
    with pytest.raises(ValueError, match="time: got None"):
        predictions_of(fitter, table[N:])
    with pytest.raises(TypeError, match=r"lifelines.*KaplanMeierFitter, which is not known"):
        predictions_of(lifelines.KaplanMeierFitter().fit(table["time"]), table, time=1.0)


def stand_in(library, name, **attributes):
    """What is read of a model of a library that is not installed."""
    return type(name, (), {"__module__": library, **attributes})()


def test_what_is_read_of_survival_regressions():
    frame = pd.DataFrame([[0.9, 0.8], [0.6, 0.5]], index=[1.0, 2.0])
    fitter = stand_in("lifelines", "CoxPHFitter", predict_survival_function=lambda self, data, times: frame.loc[times])
    np.testing.assert_allclose(predictions_of(fitter, X[:2], time=2.0).probability, [0.4, 0.5])
    curves = predictions_of(fitter, X[:2], time=[1.0, 2.0])
    np.testing.assert_allclose(curves.probabilities, [[0.1, 0.3, 0.6], [0.2, 0.3, 0.5]])


def test_what_is_read_of_forecasts():
    row = np.array([[0.5], [1.5]])
    for name, families in (("Normal", {"mu": row, "sigma": 2.0}), ("Poisson", {"mu": row})):
        found = predictions_of(stand_in("skpro", name, shape=(2, 1), **families))
        np.testing.assert_allclose(found.mean, [0.5, 1.5])
    assert predictions_of(stand_in("skpro", "Normal", shape=(2,), mu=row[:, 0], sigma=2.0)).scale.tolist() == [2.0, 2.0]
    with pytest.raises(ValueError, match="got Normal of 2 columns, wanted one"):
        predictions_of(stand_in("skpro", "Normal", shape=(1, 2), mu=[[0.0, 1.0]], sigma=1.0))
    classes = stand_in("ngboost", "k_categorical", class_probs=lambda self: [[0.2, 0.8]])
    assert predictions_of(classes).probabilities.tolist() == [[0.2, 0.8]]


def test_gradient_boosting():
    ngboost = library("ngboost")
    y = ETA + RNG.normal(size=2 * N)
    model = ngboost.NGBRegressor(n_estimators=20, verbose=False, random_state=1).fit(X[:N], y[:N])
    forecast = model.pred_dist(NEW)
    for found in (predictions_of(model, NEW), predictions_of(forecast)):
        np.testing.assert_allclose(found.mean, forecast.params["loc"])
        np.testing.assert_allclose(found.scale, forecast.params["scale"])
    labels = (y > 0).astype(int)
    model = ngboost.NGBClassifier(n_estimators=20, verbose=False, random_state=1).fit(X[:N], labels[:N])
    np.testing.assert_allclose(predictions_of(model, NEW).probabilities, model.predict_proba(NEW))


def test_distributions_of_skpro():
    distributions = library("skpro.distributions")
    mean = RNG.normal(size=(5, 1))
    found = predictions_of(distributions.Normal(mu=mean, sigma=2.0))
    np.testing.assert_array_equal(found.mean, mean[:, 0])
    np.testing.assert_array_equal(found.scale, np.full(5, 2.0))
    made = distributions.Laplace(mu=mean, scale=0.5)
    np.testing.assert_allclose(predictions_of(made).cdf(np.zeros(5)), np.ravel(made.cdf(np.zeros((5, 1)))))
    made = distributions.LogNormal(mu=mean, sigma=0.5)
    np.testing.assert_allclose(predictions_of(made).cdf(np.ones(5)), np.ravel(made.cdf(np.ones((5, 1)))))
    assert predictions_of(distributions.Poisson(mu=np.exp(mean))).rate == pytest.approx(np.exp(mean[:, 0]))
    with pytest.raises(ValueError, match="got Normal of 2 columns"):
        predictions_of(distributions.Normal(mu=np.zeros((5, 2)), sigma=1.0))
    with pytest.raises(TypeError, match="Logistic, which is not known"):
        predictions_of(distributions.Logistic(mu=mean, scale=1.0))


@pytest.mark.parametrize(
    ("name", "family", "parameters"),
    [
        ("TDistribution", "StudentT", {"mu": 0.3, "sigma": 2.0, "df": 5.0}),
        ("Gamma", "Gamma", {"alpha": 2.0, "beta": 3.0}),
        ("Exponential", "Gamma", {"rate": 3.0}),
        ("Beta", "Beta", {"alpha": 2.0, "beta": 3.0}),
        ("NegativeBinomial", "NegativeBinomial", {"mu": 2.0, "alpha": 3.0}),
        ("HalfNormal", "Continuous", {"sigma": 3.0}),
    ],
)
def test_other_families_of_skpro(name, family, parameters):
    rows = {one: value * (1.0 + np.arange(4.0)[:, None] / 4.0) for one, value in parameters.items()}
    made = getattr(library("skpro.distributions"), name)(**rows, index=pd.Index(list("cadb")), columns=["y"])
    found = predictions_of(made)
    assert type(found) is getattr(ct.predictions, family)
    assert list(found.index) == list("cadb")
    at = np.full((4, 1), 0.5 if family != "NegativeBinomial" else 1.0)
    np.testing.assert_allclose(found.cdf(at[:, 0]), np.ravel(made.cdf(at)))


def test_draws_of_skpro():
    """In the order of the rows of the forecast, whatever their labels."""
    draws = RNG.normal(size=(6, 3))
    rows = pd.MultiIndex.from_product([range(6), ["c", "a", "b"]])
    found = predictions_of(
        library("skpro.distributions").Empirical(pd.DataFrame(draws.ravel(), index=rows, columns=["y"]))
    )
    np.testing.assert_array_equal(found.members, np.sort(draws.T))
    assert list(found.index) == ["c", "a", "b"]


def test_steps_of_additive_models():
    """Aalen's model of lifelines gives all times of the fit, whatever is asked; until an hour nothing happens."""
    library("lifelines")
    from lifelines import AalenAdditiveFitter
    from lifelines.datasets import load_rossi

    rows = load_rossi()[["age", "prio", "week", "arrest"]]
    with np.errstate(all="ignore"):
        fitter = AalenAdditiveFitter(coef_penalizer=1.0).fit(rows[:300], "week", "arrest")
    new = rows[300:].drop(columns=["week", "arrest"])
    curves = fitter.predict_survival_function(new)
    before, after = curves.index[[9, 10]]
    found = predictions_of(fitter, new, time=(before + after) / 2.0)
    np.testing.assert_allclose(1.0 - found.probability, curves.loc[before])
    assert predictions_of(fitter, new, time=0.01).probability.max() == 0.0


@pytest.mark.filterwarnings("ignore")
def test_models_whose_distributions_of_new_rows_are_not_known():
    sm, gam = library("statsmodels.api"), library("statsmodels.gam.api")
    times = np.exp(ETA[:N])
    smoother = gam.BSplines(X[:N, 1:2], df=[5], degree=[3])
    models = [
        sm.PHReg(times, X[:N, 1:]).fit(),
        gam.GLMGam(RNG.poisson(times), X[:N, 2:], smoother=smoother, family=sm.families.Poisson()).fit(),
    ]
    for fitted in models:
        with pytest.raises(TypeError, match="which is not known here"):
            predictions_of(fitted, NEW)
    weighted = sm.GLM(ETA[:N] + RNG.normal(size=N), X[:N], var_weights=np.arange(1.0, N + 1.0)).fit()
    with pytest.raises(ValueError, match="got a GLM that was fitted with var_weights, wanted one without"):
        predictions_of(weighted, NEW)


def test_posterior_predictive_draws():
    arviz = library("arviz")
    draws = RNG.normal(size=(4, 25, 30))
    data = inference_data(arviz, posterior_predictive={"y": draws, "z": draws + 1}, observed_data={"y": draws[0, 0]})
    found = predictions_of(data, variable="y")
    assert isinstance(found, ct.Ensemble)
    np.testing.assert_array_equal(found.members, np.sort(draws.reshape(100, 30).T))
    with pytest.raises(ValueError, match="variable: got None, wanted one of posterior_predictive: y, z"):
        predictions_of(data)
    few = {"y": draws[:, :, :5]}
    data = inference_data(arviz, posterior_predictive={"y": draws}, predictions=few)
    np.testing.assert_array_equal(predictions_of(data).members, np.sort(draws[:, :, :5].reshape(100, 5).T))
    with pytest.raises(ValueError, match="model: got groups observed_data, wanted predictions or posterior_predictive"):
        predictions_of(inference_data(arviz, observed_data={"y": draws[0, 0]}))


def test_groups_of_a_tree():
    xarray = library("xarray")
    draws = RNG.normal(size=(4, 25, 30))
    group = xarray.Dataset({"y": (("chain", "draw", "row"), draws)})
    few = group.isel(row=slice(5))
    tree = xarray.DataTree.from_dict({"posterior_predictive": group, "predictions": few})
    np.testing.assert_array_equal(predictions_of(tree).members, np.sort(draws[:, :, :5].reshape(100, 5).T))
    with pytest.raises(ValueError, match="model: got groups prior, wanted"):
        predictions_of(xarray.DataTree.from_dict({"prior": group}))
    for alone in (tree["posterior_predictive"], group):
        np.testing.assert_array_equal(predictions_of(alone).members, np.sort(draws.reshape(100, 30).T))
    with pytest.raises(ValueError, match=r"variable: got dimensions \('row',\) of y, wanted chain and draw"):
        predictions_of(group.isel(chain=0, draw=0))
    with pytest.raises(ValueError, match=r"got a DataTree, .* pass ct.bridges.predictions_of\(predictions\)"):
        ct.calibration_test(tree, np.zeros(30))
    with pytest.raises(ValueError, match=r"got dimensions chain and draw, .*members.stack"):
        ct.Ensemble(group["y"])


def test_labelled_arrays():
    xarray = library("xarray")
    p, y = np.full((40, 2), 0.5), np.arange(40) % 2
    table = xarray.DataArray(p, dims=("time", "class"), coords={"class": ["no", "yes"]})
    labels = xarray.DataArray(y, dims="time")
    wanted = ct.calibration_test(p, y, n_resamples=19, rng=1)
    assert ct.calibration_test(table, labels, n_resamples=19, rng=1).statistic == wanted.statistic
    members = xarray.DataArray(RNG.normal(size=(40, 5)), dims=("time", "member"))
    assert (ct.Ensemble(members).members == np.sort(members.values)).all()
    assert (ct.Normal(labels, 1.0).mean == y).all()


def test_all_else_is_what_tests_take():
    found = predictions_of(scipy.stats.norm(np.zeros(3), 2.0))
    assert (found.scale == 2.0).all()
    assert predictions_of([0.2, 0.4]).probability.tolist() == [0.2, 0.4]
    assert predictions_of(found) is found
