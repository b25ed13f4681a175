"""BibTeX entries of the sources of methods."""

from collections.abc import Iterable
from typing import Any

NIPS = "Advances in Neural Information Processing Systems"
ICML = "International Conference on Machine Learning"
JRSSB = "Journal of the Royal Statistical Society: Series B"
AMS = "The Annals of Mathematical Statistics"
AOS = "The Annals of Statistics"
JMVA = "Journal of Multivariate Analysis"
JMLR = "Journal of Machine Learning Research"
CSDA = "Computational Statistics \\& Data Analysis"


def _article(authors: str, title: str, journal: str, year: int, volume: str, pages: str) -> tuple[str, dict[str, str]]:
    return "article", {
        "author": authors,
        "title": title,
        "journal": journal,
        "year": str(year),
        "volume": volume,
        "pages": pages,
    }


def _paper(
    authors: str, title: str, book: str, year: int, volume: str = "", pages: str = ""
) -> tuple[str, dict[str, str]]:
    fields = {"author": authors, "title": title, "booktitle": book, "year": str(year), "volume": volume, "pages": pages}
    return "inproceedings", {name: value for name, value in fields.items() if value}


WIDMANN = "Widmann, David and Lindsten, Fredrik and Zachariah, Dave"

ENTRIES: dict[str, tuple[str, dict[str, str]]] = {
    "widmann2019": _paper(
        WIDMANN, "Calibration tests in multi-class classification: A unifying framework", NIPS, 2019, "32"
    ),
    "widmann2021": _paper(
        WIDMANN, "Calibration tests beyond classification", "International Conference on Learning Representations", 2021
    ),
    "arcones1992": _article(
        "Arcones, Miguel A. and Gin{\\'e}, Evarist",
        "On the bootstrap of {U} and {V} statistics",
        AOS,
        1992,
        "20",
        "655--674",
    ),
    "barnard1963": _article("Barnard, G. A.", "Discussion of {P}rofessor {B}artlett's paper", JRSSB, 1963, "25", "294"),
    "benjamini1995": _article(
        "Benjamini, Yoav and Hochberg, Yosef",
        "Controlling the false discovery rate: A practical and powerful approach to multiple testing",
        JRSSB,
        1995,
        "57",
        "289--300",
    ),
    "besag1991": _article(
        "Besag, Julian and Clifford, Peter",
        "Sequential {M}onte {C}arlo $p$-values",
        "Biometrika",
        1991,
        "78",
        "301--304",
    ),
    "bounliphone2016": _paper(
        "Bounliphone, Wacha and Belilovsky, Eugene and Blaschko, Matthew B. and Antonoglou, Ioannis "
        "and Gretton, Arthur",
        "A test of relative similarity for model selection in generative models",
        "International Conference on Learning Representations",
        2016,
    ),
    "broecker2007": _article(
        'Br{\\"o}cker, Jochen and Smith, Leonard A.',
        "Increasing the reliability of reliability diagrams",
        "Weather and Forecasting",
        2007,
        "22",
        "651--661",
    ),
    "dwass1957": _article(
        "Dwass, Meyer", "Modified randomization tests for nonparametric hypotheses", AMS, 1957, "28", "181--187"
    ),
    "efron1981": _article(
        "Efron, Bradley and Stein, Charles", "The jackknife estimate of variance", AOS, 1981, "9", "586--596"
    ),
    "guo2017": _paper(
        "Guo, Chuan and Pleiss, Geoff and Sun, Yu and Weinberger, Kilian Q.",
        "On calibration of modern neural networks",
        ICML,
        2017,
        "",
        "1321--1330",
    ),
    "harrison2012": _article(
        "Harrison, Matthew T.",
        "Conservative hypothesis tests and confidence intervals using importance sampling",
        "Biometrika",
        2012,
        "99",
        "57--69",
    ),
    "hoeffding1963": _article(
        "Hoeffding, Wassily",
        "Probability inequalities for sums of bounded random variables",
        "Journal of the American Statistical Association",
        1963,
        "58",
        "13--30",
    ),
    "holm1979": _article(
        "Holm, Sture",
        "A simple sequentially rejective multiple test procedure",
        "Scandinavian Journal of Statistics",
        1979,
        "6",
        "65--70",
    ),
    "kaziaoual1995": _article(
        "Kazi-Aoual, Fr{\\'e}d{\\'e}rique and Hitier, Simon and Sabatier, Robert and Lebreton, Jean-Dominique",
        "Refined approximations to permutation tests for multivariate inference",
        CSDA,
        1995,
        "20",
        "643--656",
    ),
    "kumar2018": _paper(
        "Kumar, Aviral and Sarawagi, Sunita and Jain, Ujjwal",
        "Trainable calibration measures for neural networks from kernel mean embeddings",
        ICML,
        2018,
        "",
        "2805--2814",
    ),
    "mcdiarmid1989": _paper(
        "McDiarmid, Colin", "On the method of bounded differences", "Surveys in Combinatorics", 1989, "", "148--188"
    ),
    "phipson2010": _article(
        "Phipson, Belinda and Smyth, Gordon K.",
        "Permutation {P}-values should never be zero: Calculating exact {P}-values when permutations "
        "are randomly drawn",
        "Statistical Applications in Genetics and Molecular Biology",
        2010,
        "9",
        "Article 39",
    ),
    "schrab2023": _article(
        "Schrab, Antonin and Kim, Ilmun and Albert, M{\\'e}lisande and Laurent, B{\\'e}atrice and "
        "Guedj, Benjamin and Gretton, Arthur",
        "{MMD} aggregated two-sample test",
        JMLR,
        2023,
        "24",
        "1--81",
    ),
    "spiegelhalter1986": _article(
        "Spiegelhalter, David J.",
        "Probabilistic prediction in patient management and clinical trials",
        "Statistics in Medicine",
        1986,
        "5",
        "421--433",
    ),
    "vaicenavicius2019": _paper(
        "Vaicenavicius, Juozas and Widmann, David and Andersson, Carl and Lindsten, Fredrik and Roll, "
        'Jacob and Sch{\\"o}n, Thomas',
        "Evaluating model calibration in classification",
        "International Conference on Artificial Intelligence and Statistics",
        2019,
        "",
        "3459--3467",
    ),
    "williams2001": _paper(
        "Williams, Christopher K. I. and Seeger, Matthias",
        'Using the {N}ystr{\\"o}m method to speed up kernel machines',
        NIPS,
        2001,
        "13",
        "682--688",
    ),
    "arrieta2022": _article(
        "Arrieta-Ibarra, Imanol and Gujral, Paman and Tannen, Jonathan and Tygert, Mark and Xu, Cherie",
        "Metrics of calibration for probabilistic predictions",
        JMLR,
        2022,
        "23",
        "1--54",
    ),
    "anderson1954": _article(
        "Anderson, T. W. and Darling, D. A.",
        "A test of goodness of fit",
        "Journal of the American Statistical Association",
        1954,
        "49",
        "765--769",
    ),
    "cox1958": _article(
        "Cox, D. R.", "Two further applications of a model for binary regression", "Biometrika", 1958, "45", "562--565"
    ),
    "dawid1984": _article(
        "Dawid, A. P.",
        "Present position and potential developments: Some personal views: Statistical theory: The prequential "
        "approach",
        "Journal of the Royal Statistical Society: Series A",
        1984,
        "147",
        "278--292",
    ),
    "dimitriadis2021": _article(
        "Dimitriadis, Timo and Gneiting, Tilmann and Jordan, Alexander I.",
        "Stable reliability diagrams for probabilistic classifiers",
        "Proceedings of the National Academy of Sciences",
        2021,
        "118",
        "e2016191118",
    ),
    "hosmer1980": _article(
        "Hosmer, David W. and Lemeshow, Stanley",
        "Goodness of fit tests for the multiple logistic regression model",
        "Communications in Statistics -- Theory and Methods",
        1980,
        "9",
        "1043--1069",
    ),
    "kumar2019": _paper(
        "Kumar, Ananya and Liang, Percy and Ma, Tengyu", "Verified uncertainty calibration", NIPS, 2019, "32"
    ),
    "kull2019": _paper(
        'Kull, Meelis and Perello-Nieto, Miquel and K{\\"a}ngsepp, Markus and Silva Filho, Telmo and Song, Hao and '
        "Flach, Peter",
        "Beyond temperature scaling: Obtaining well-calibrated multi-class probabilities with {D}irichlet calibration",
        NIPS,
        2019,
        "32",
    ),
    "lee2023": _article(
        "Lee, Donghwan and Huang, Xinmeng and Hassani, Hamed and Dobriban, Edgar",
        "{T-Cal}: An optimal test for the calibration of predictive models",
        JMLR,
        2023,
        "24",
        "1--72",
    ),
    "naeini2015": _paper(
        "Naeini, Mahdi Pakdaman and Cooper, Gregory F. and Hauskrecht, Milos",
        "Obtaining well calibrated probabilities using {B}ayesian binning",
        "AAAI Conference on Artificial Intelligence",
        2015,
        "29",
        "2901--2907",
    ),
    "nattino2014": _article(
        "Nattino, Giovanni and Finazzi, Stefano and Bertolini, Guido",
        "A new calibration test and a reappraisal of the calibration belt for the assessment of prediction models "
        "based on dichotomous outcomes",
        "Statistics in Medicine",
        2014,
        "33",
        "2390--2407",
    ),
    "westfall1993": _paper(
        "Westfall, Peter H. and Young, S. Stanley",
        "Resampling-Based Multiple Testing: Examples and Methods for p-Value Adjustment",
        "Wiley",
        1993,
    ),
    "cover1991": _article("Cover, Thomas M.", "Universal portfolios", "Mathematical Finance", 1991, "1", "1--29"),
    "gruber2025": _paper(
        "Gruber, Sebastian G. and Bach, Francis",
        "Optimizing estimators of squared calibration errors in classification",
        "Transactions on Machine Learning Research",
        2025,
    ),
    "shafer2021": _article(
        "Shafer, Glenn",
        "Testing by betting: A strategy for statistical and scientific communication",
        "Journal of the Royal Statistical Society: Series A",
        2021,
        "184",
        "407--431",
    ),
}


def bibtex(source: Any) -> str:
    r"""BibTeX entries of the methods of a test, an estimator, a null, a result or a comparison.

    Parameters
    ----------
    source
        Anything of these.

    Returns
    -------
    str
        Entries in alphabetical order of their keys, empty if there are none.

    Raises
    ------
    TypeError
        For something else.

    Examples
    --------
    >>> import caltest as ct
    >>> print(ct.bibtex(ct.ConsistencyTest(ct.ECE(), n_resamples=99).null))
    @article{broecker2007,
      author = {Br{\"o}cker, Jochen and Smith, Leonard A.},
      title = {Increasing the reliability of reliability diagrams},
      journal = {Weather and Forecasting},
      year = {2007},
      volume = {22},
      pages = {651--661},
    }
    """
    keys = getattr(source, "citations", None)
    if isinstance(source, type) or not isinstance(keys, tuple):
        raise TypeError(
            f"source: got {type(source).__name__}, wanted a test, an estimator, a null, a result or a comparison"
        )
    return entries(keys)


def entries(keys: Iterable[str]) -> str:
    """The entries of these keys, each once, in alphabetical order."""
    return "\n\n".join(_entry(key) for key in sorted(set(keys)))


def _entry(key: str) -> str:
    kind, fields = ENTRIES[key]
    lines = [f"  {name} = {{{value}}}," for name, value in fields.items()]
    return "\n".join([f"@{kind}{{{key},", *lines, "}"])
