"""Labels, names of classes and counts."""

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from caltest._basics.arrays import column, to_array
from caltest._basics.numerics import Array, ArrayLike, BoolArray, FloatArray, IntArray
from caltest._basics.rows import is_number
from caltest._validation.arrays import all_whole, real_array, refuse_rows
from caltest._validation.settings import in_short

SHOWN = 10
"""Names of classes that an error lists."""

SOFT = (
    "give each annotator's label a row with the same prediction, and pass the numbers of the items as clusters= of "
    "ct.calibration_test"
)
"""What to do with labels that are no outcomes but shares of them."""

OCCURRED = {"yes": "no", "y": "n", "true": "false", "t": "f", "positive": "negative", "pos": "neg"}
"""What says that an event occurred, and that it did not, in lower case."""

LARGEST_COUNT = 2.0**53
"""From here on not every whole number is a floating point number."""


def class_labels(
    data: ArrayLike, k: int, classes: Sequence[Any] | None, name: str = "targets", one_column: bool = False
) -> IntArray:
    """Labels 0..k-1 as an (n,) integer array, which can be the data; names among ``classes`` are looked up there.

    Whole numbers are labels also where these are words. For ``one_column`` of probabilities of the label 1 labels may
    be words such as yes and no.
    """
    array = column(to_array(data, name))
    if array.size == 0:
        raise ValueError(f"{name}: got no values (shape {array.shape}), wanted at least one observation")
    if array.ndim == 2 and array.shape[1] == k and array.dtype.kind in "buif" and set(np.unique(array)) <= {0, 1}:
        raise ValueError(f"{name}: got one-hot rows of shape {array.shape}, wanted labels; pass targets.argmax(axis=1)")
    if array.ndim == 2 and array.shape[1] == k and array.dtype.kind in "buif" and array.min() >= 0.0:
        raise ValueError(
            f"{name}: got shape {array.shape}, wanted one label per observation, 1-D; if the numbers are soft labels "
            f"or votes, {SOFT}"
        )
    if array.ndim != 1:
        advice = f"; pass numpy.ravel({name})" if array.ndim == 2 and 1 in array.shape else ""
        if array.dtype.kind == "f" and not all_whole(array):
            advice = "; if outcomes are vectors of real numbers, wrap predictions in ct.MvNormal or ct.Ensemble"
        elif array.ndim == 2 and not advice:
            advice = f"; if they are labels of several annotators, {SOFT}"
        raise ValueError(f"{name}: got shape {array.shape}, wanted one label per observation, 1-D{advice}")
    if classes is not None and not (array.dtype.kind in "iuf" and _are_words(classes)):
        return _labels_from_classes(array, list(classes), name)
    if array.dtype.kind in "US":
        said = said_to_occur(array.tolist()) if one_column else None
        if said is None:
            raise ValueError(
                f"{name}: got text such as {str(array[0])!r}, wanted labels 0..{k - 1}; "
                + _advice_on_text(array, k, name, one_column)
            )
        array = np.array(said)
    if array.dtype.kind == "b" and k > 2:
        raise ValueError(
            f"{name}: got booleans for {k} classes, wanted labels 0..{k - 1}; if they say whether the top prediction "
            "was correct, pass predictions.max(axis=1) with them"
        )
    return _whole_labels(array, k, name)


def _whole_labels(array: Array, k: int, name: str) -> IntArray:
    if array.dtype.kind in "bui" and array.min() >= 0 and array.max() < k:
        return np.require(array, np.intp, ["C", "A"])
    values = real_array(array, name, ndim=1)
    advice = "if outcomes are real numbers, wrap predictions in ct.Normal or ct.Ensemble"
    if k == 2 and values.min() >= 0.0 and values.max() <= 1.0:
        advice = f"{advice}; if they are soft labels or shares of votes, {SOFT}"
    refuse_rows(values != np.floor(values), values, name, f"whole-number labels 0..{k - 1}; {advice}")
    if values.min() >= 1 and values.max() == k:
        raise ValueError(
            f"{name}: got labels {values.min():g}..{k}, wanted labels 0..{k - 1}; these look 1-based, subtract 1"
        )
    if k == 2 and set(np.unique(values)) == {-1.0, 1.0}:
        raise ValueError(f"{name}: got labels -1 and 1, wanted labels 0 and 1; pass (targets + 1) // 2")
    outside = (values < 0) | (values >= k)
    if outside.any():
        i, code = int(np.argmax(outside)), _code(values, outside)
        if k == 2 and not code and values.min() >= 0.0:
            code = "; if outcomes are counts, pass their law, such as ct.Poisson(mean)"
        raise ValueError(f"{name}: got label {values[i]:.6g} at row {i}, wanted labels 0..{k - 1}{code}")
    return values.astype(np.intp)


def said_to_occur(words: Iterable[Any]) -> list[bool] | None:
    """Whether words such as yes and no, in any case, say that an event occurred; None for other words."""
    lower = [str(word).strip().lower() for word in words]
    for yes, no in OCCURRED.items():
        if lower and set(lower) <= {yes, no}:
            return [word == yes for word in lower]
    return None


def _advice_on_text(array: Array, k: int, name: str, one_column: bool) -> str:
    """What to pass in place of text: names that a model has, or those that occur, if they are as many as classes."""
    texts = [str(value).strip() for value in array]
    if all("," not in text and is_number(text) and float(text).is_integer() for text in texts):
        number = "label" if all(map(str.isdecimal, texts)) else "float(label)"
        return f"these are numbers as text, pass [int({number}) for label in {name}]"
    if one_column:
        event = f"pass {name} == {str(array[0])!r} if predictions are the probabilities of it"
        return f"{event}, or classes=[...], the names of 0 and 1"
    names = np.unique(array).tolist()
    occurring = f", classes={names!r} if these are sorted" if len(names) == k <= SHOWN else ""
    order = "the class names in the order of the columns: classes=model.classes_ of scikit-learn"
    return f"pass classes=[...], {order}{occurring}"


def _code(labels: FloatArray, outside: BoolArray) -> str:
    """What to do if labels that are none look like a code of missing ones: one negative number, or of nines only."""
    first, count = float(labels[outside][0]), int(np.count_nonzero(outside))
    if (labels[outside] != first).any() or not (first < -1.0 or set(f"{first:.0f}") == {"9"}):
        return ""
    of_all = f"{count} are" if count > 1 else "it is"
    return f'; if {of_all} a code for missing ones, pass nan, and missing="drop" in calibration_test'


def whole_counts(data: ArrayLike, name: str = "targets") -> IntArray:
    """Counts 0, 1, 2, ... as an (n,) integer array."""
    values = real_array(data, name, ndim=1)
    wrong = (values < 0.0) | (values != np.floor(values))
    if wrong.any():
        i = int(np.argmax(wrong))
        advice = "" if values[i] < 0.0 else "; for rates per exposure pass the counts, and predict rate times exposure"
        raise ValueError(f"{name}: got {values[i]:.6g} at row {i}, wanted whole numbers of at least 0{advice}")
    refuse_rows(values >= LARGEST_COUNT, values, name, "counts below 2**53")
    return values.astype(np.intp)


def _are_words(classes: Sequence[Any]) -> bool:
    """Whether names say nothing of numbers, or those that count the columns, so that 0 can only be the first."""
    if not all(isinstance(one, str) for one in classes):
        return False
    numbers = said_to_occur(classes) or numbers_of(classes)
    return numbers is None or numbers == list(range(len(classes)))


def _labels_from_classes(array: Array, classes: list[Any], name: str) -> IntArray:
    position = {value: index for index, value in enumerate(classes)}
    labels = np.empty(array.shape[0], dtype=np.intp)
    for i, value in enumerate(array.tolist()):
        if value not in position:
            places = f"; if {name} number the columns from 0, pass [classes[i] for i in {name}]"
            raise ValueError(
                f"{name}: got {in_short(value)} at row {i}, which is not one of classes={in_short(classes)}"
                + places * (array.dtype.kind in "iu")
            )
        labels[i] = position[value]
    return labels


def class_names(classes: Sequence[Any] | None, k: int) -> tuple[Any, ...] | None:
    """Class names, one per class and all different."""
    if classes is None:
        return None
    array = to_array(list(classes) if isinstance(classes, tuple) else classes, "classes")
    if array.ndim != 1:
        raise ValueError(f"classes: got {classes!r}, wanted a list of {k} names in the order of the columns")
    names = tuple(array.tolist())
    if len(names) != k:
        raise ValueError(f"classes: got {len(names)} names, wanted {k}, one per class in the order of the columns")
    if len(set(names)) != len(names):
        raise ValueError(f"classes: got {list(names)!r}, wanted names that are all different")
    return names


def class_in_words(name: Any) -> str:
    """What a sentence calls a class; a name with spaces has quotation marks, which show where it ends."""
    if isinstance(name, str) and name.split() == [name] and name.lower().startswith("class"):
        return name
    return f"class {name!r}" if isinstance(name, str) and name.split() != [name] else f"class {name}"


def class_order(classes: Sequence[Any] | None, wanted: Sequence[Any] | None, name: str) -> IntArray | None:
    """Places of the wanted classes among others; None if they are in the same order, or one side has no names.

    Where names on one side are the numbers 0..k-1 in another order, the other side without names has these in order.
    ``ValueError`` unless both have the same names.
    """
    given, asked = _numbered(classes, wanted), _numbered(wanted, classes)
    if given is None or asked is None or given == asked:
        return None
    other = next((value for value in given if value not in asked), None)
    if other is not None or len(given) != len(asked):
        raise ValueError(f"{name}: got classes {list(given)!r}, wanted the names {list(asked)!r}")
    return np.array([given.index(value) for value in asked], dtype=np.intp)


def _numbered(classes: Sequence[Any] | None, other: Sequence[Any] | None) -> tuple[Any, ...] | None:
    """Names of classes; of those that have none 0..k-1, if the others are called so."""
    if classes is not None:
        return tuple(classes)
    if other is None or set(other) != set(range(len(other))):
        return None
    return tuple(range(len(other)))


def classes_of(names: tuple[Any, ...] | None, targets: Array, classes: Sequence[Any] | None) -> Sequence[Any] | None:
    """Names of classes: those given, or those of the columns if the targets are such names.

    Columns named by numbers are those of classes if the targets cannot be labels 0..k-1; ``ValueError`` if they can be
    both and that makes a difference, or if given names have another order than the columns. So it is with numbers at
    the ends of names, and with yes and no, or true and false, for the labels 1 and 0.
    """
    if names is None or len(names) < 2:
        return classes
    if classes is not None:
        return in_order_of_columns(names, classes)
    text, targets = [str(name) for name in names], column(targets)
    if targets.dtype.kind == "U":
        return text if np.isin(targets, text).any() else None
    said = said_to_occur(text)
    if targets.dtype.kind == "b" and said in ([True, False], [False, True]):
        return said
    numbers = [int(one) for one in said] if said else numbers_of(text)
    if targets.dtype.kind not in "biuf" or numbers is None or targets.ndim != 1:
        return None
    by_name = bool(np.isin(targets, numbers).all())
    by_place = bool(((targets >= 0) & (targets < len(numbers)) & (targets == np.floor(targets))).all())
    if by_name and by_place and (np.array(numbers)[targets.astype(np.intp)] != targets).any():
        if said:
            raise ValueError(
                f"targets: got labels 0 and 1 for columns of the predictions with the names {' and '.join(text)}, so "
                f"that 1 can mean {text[said.index(True)]} or the second column; wanted these names, or booleans"
            )
        raise ValueError(
            f"targets: got labels that are names of the columns of the predictions ({', '.join(text)}) as well as "
            f"their places 0..{len(numbers) - 1}; name the columns by words, or pass classes={numbers} if "
            f"labels are names, classes=range({len(numbers)}) and predictions.to_numpy() if they are places"
        )
    return numbers if by_name and not by_place else None


def in_order_of_columns(
    names: tuple[Any, ...] | None, classes: Sequence[Any] | None, name: str = "classes"
) -> Sequence[Any] | None:
    """Names of classes as given; ``ValueError`` if they are those of the columns in another order."""
    if names is None or not isinstance(classes, Iterable) or getattr(classes, "shape", None) == ():
        return classes
    text, given = [str(name) for name in names], [str(name) for name in classes]
    as_columns = text if sorted(given) == sorted(text) else names_in_columns(text, given)
    if given != (as_columns or given):
        advice = f"leave {name} out, and the names of the columns are used"
        raise ValueError(
            f"{name}: got {given!r}, wanted them in the order of the columns of the predictions, which are named "
            f"{text!r}; {advice if as_columns == text else f'pass {name}={as_columns!r}'}"
        )
    return classes


def names_in_columns(columns: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Names in the order of the columns that are called after them, as P(cat) is after cat, in any case, one by one."""
    found = [[name for name in names if _is_in(name.lower(), column.lower())] for column in columns]
    order = [some[0] for some in found if len(some) == 1]
    return order if len(set(order)) == len(columns) == len(names) else None


def _is_in(name: str, column: str) -> bool:
    """Whether a name with letters is a word of another."""
    is_part = name in column and not name.isdecimal()
    return is_part and re.search(rf"(?<![^\W_]){re.escape(name)}(?![^\W_])", column) is not None


def not_named(columns: Sequence[Any] | None, targets: Array, name: str = "targets") -> None:
    """Raise ``ValueError`` if targets are names, and columns have others. It is asked where the data are refused."""
    array, text = column(targets), [str(one) for one in columns or ()]
    if array.dtype.kind != "U" or len(text) < 2 or numbers_of(text) is not None or np.isin(array, text).any():
        return
    if all(str(value).strip().isdecimal() for value in array.flat):
        return
    order = names_in_columns(text, np.unique(array).tolist())
    raise ValueError(
        f"{name}: got text such as {str(array.flat[0])!r}, which is the name of no column of the predictions "
        f"({', '.join(text[:SHOWN])}{', ...' if len(text) > SHOWN else ''}); give the columns the names of the labels, "
        f"or pass classes={order or '[...]'}, their names in the order of the columns"
    )


def require_order_of(
    wanted: Sequence[Any] | None, names: Sequence[Any] | None, name: str, whose: str = "predictions"
) -> None:
    """Raise ``ValueError`` if columns have the wanted names in another order."""
    known, given = ([str(one) for one in some or ()] for some in (wanted, names))
    if given != known and sorted(given) == sorted(known):
        raise ValueError(f"{name}: got the columns {given!r}, wanted them in the order of the {whose}, {known!r}")


def numbers_of(names: Sequence[str]) -> list[float] | None:
    """Names as numbers, or the whole numbers at their ends if all have the same words before these."""
    try:
        numbers = [float(name) for name in names]
    except ValueError:
        ends = [re.fullmatch(r"(.*?)(\d+)", name) for name in names]
        found = [(end[1], int(end[2])) for end in ends if end is not None]
        are_alike = len(found) == len(names) and len({before for before, _ in found}) == 1
        return [number for _, number in found] if are_alike else None
    return [int(number) if number.is_integer() else number for number in numbers]
