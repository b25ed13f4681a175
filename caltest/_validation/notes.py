"""Notes on parts of the data, said once of all."""

import re

NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def once(*notes: str) -> tuple[str, ...]:
    """Each of the notes once; of those that differ in a number only, the one with the largest.

    Examples
    --------
    >>> once("off by 2e-06", "rounded", "off by 3e-05")
    ('off by 3e-05', 'rounded')
    """
    found: dict[str, str] = {}
    for note in notes:
        words = NUMBER.sub("#", note)
        found[words] = max(found.get(words, note), note, key=_numbers)
    return tuple(found.values())


def _numbers(note: str) -> list[float]:
    return [float(number) for number in NUMBER.findall(note)]
