"""GPcalib: settings of the fit of a latent Gaussian process."""

from dataclasses import dataclass

from caltest._basics.types import FloatArray, IntArray
from caltest._validation import switch, whole_number
from caltest.recalibration.base import ProbabilityCalibrator
from caltest.recalibration.gaussian_process.fit import best_of_scales, inputs_of
from caltest.recalibration.gaussian_process.map import GPMap


@dataclass(frozen=True, kw_only=True)
class GPCalibrator(ProbabilityCalibrator):
    """GPcalib: ``softmax(g(z_1)..g(z_k))`` with one latent function g of all classes, a Gaussian process.

    Its prior mean is ``ln p`` of probabilities, or the logits z themselves: the model is taken to be calibrated unless
    the data say otherwise. The kernel is ``variance exp(-(x - x')^2 / (2 l^2)) + noise 1[x = x']``. The process has M
    inducing inputs w and ``g(w) = prior(w) + L v`` with ``L L' = K(w, w)`` and ``v ~ N(m, diag(s^2))``; w, m, s and the
    kernel maximise ``sum_i E[ln softmax(g(x_i))_{y_i}] - KL``, the expectation to second order in the variance of g.
    Of probabilities the kernel sees p in one fit and ln p in another; the one with the larger bound is the result.

    Parameters
    ----------
    input
        ``"probabilities"``: ``Categorical``, ``Bernoulli`` or arrays; or ``"logits"``: arrays (n, k) or (n,).
    n_inducing
        Number M of inducing inputs, fewer if there are fewer different inputs.
    max_iterations
        Of each search.
    keep_class
        Whether the most probable class of every prediction stays, and so does the accuracy. False: the paper's fit,
        whose likelihood does not see which class is largest.

    Notes
    -----
    The fit uses no random numbers: inducing inputs start at the centres of k-means, which starts at quantiles.
    On p the search starts at the prior, on ln p and logits near temperature scaling; one that ends at the prior is
    repeated from the other start, and if it ends there again, the map is the identity. Where temperature scaling is far
    better than what is found, searches from shorter length scales follow.

    The most probable class stays since ``g(p) > g(q)`` wherever q < p can lie beside a largest probability p, thus for
    q <= 1 - p; of logits g increases. A fit that breaks this is searched for again with a penalty, which takes about as
    long again, and its deviation from the prior is shortened by the few percent that are missing then. Averages of
    ``GPMap.marginal`` can change the class. The expansion of the likelihood makes the bound approximate. Classes
    without labels in the calibration data get the same g as all others. If the predictions are constant over the
    classes and rows, the map returns them; if the most probable class is always right (separated labels), it makes the
    predictions sharper, by a finite amount since parameters are bounded. Probability 0 counts as 2.2e-308.

    Time of a step of the search O(n k + M^2 min(n k, 2000) + M^3): beyond 4000 inputs g is tabulated and
    interpolated by cubic polynomials, on finer grids where that would change the bound by more than 0.01. Source:
    Wenger, Kjellstrom and Triebel 2020, section 3; the kernel and its start are those of supplement S3. Differs
    from the paper in the choice between p and ln p, in the start on ln p and logits, in keeping the class, and in
    drawing the inducing variables jointly for all classes in ``GPMap.marginal``; the map itself is the paper's mean
    approximation.

    Examples
    --------
    >>> import caltest as ct
    >>> p, y = ct.datasets.load_digits_predictions()["random forest"]
    >>> fitted = ct.recalibration.GPCalibrator().fit(p.take(slice(450)), y[:450])
    >>> fitted(p.take(slice(450, None)))
    <Categorical, n = 449, 10 classes>
    >>> fitted.marginal(p.take(slice(450, None)), rng=1)
    <Categorical, n = 449, 10 classes>
    """

    n_inducing: int = 10
    max_iterations: int = 1000
    keep_class: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("n_inducing", self.n_inducing, 1)
        whole_number("max_iterations", self.max_iterations, 1)
        object.__setattr__(self, "keep_class", switch("keep_class", self.keep_class))

    def _fit(self, scores: FloatArray, labels: IntArray) -> GPMap:
        scales = ("logit",) if self.input == "logits" else ("probability", "log")
        settings = self.n_inducing, self.max_iterations, self.keep_class
        best = best_of_scales(scores, labels, scales, *settings)
        inputs, process = inputs_of(scores, best.scale), best.process
        return GPMap(
            self.input,
            scores.shape[1],
            best.scale,
            process.inducing,
            process.mean,
            process.scale,
            process.lengthscale,
            process.variance,
            process.noise,
            best.bound,
            best.converged,
            float(inputs.min()),
            float(inputs.max()),
        )
