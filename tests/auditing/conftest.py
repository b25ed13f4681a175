import pytest

from caltest.auditing.section import Section
from caltest.auditing.sections import SECTIONS

NOT_TRIED = "recalibration", ("", lambda *_: Section("not tried"))


@pytest.fixture
def only(monkeypatch):
    """Audits of some sections, as each takes its time; no map is tried unless that is among them."""

    def keep(*names):
        few = {name: SECTIONS[name] for name in SECTIONS if name in names}
        monkeypatch.setattr("caltest.auditing.audit.SECTIONS", dict([NOT_TRIED]) | few)

    return keep
