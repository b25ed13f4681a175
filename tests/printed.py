"""Reports as they are before long lines are folded."""

import re


def unfolded(report):
    """The text of a result or a report whose lines that go on below are joined."""
    return re.sub(r"\n {3,}", " ", str(report))
