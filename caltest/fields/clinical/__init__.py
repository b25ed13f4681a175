"""Clinical prediction models: validation of predicted risks, decision curves, and how many cases a validation takes."""

from caltest._basics import offered as _offered
from caltest.fields.clinical.centres import validate_by_group as validate_by_group
from caltest.fields.clinical.decisions import decision_curve as decision_curve
from caltest.fields.clinical.sample_size import validation_size as validation_size
from caltest.fields.clinical.validation import validate as validate

__all__ = _offered(globals())
