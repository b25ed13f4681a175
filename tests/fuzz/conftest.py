"""Few examples by default, the same in every run; many other ones with ``--hypothesis-profile=long``."""

from hypothesis import HealthCheck, Phase, settings

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None}

settings.register_profile("short", max_examples=3, derandomize=True, phases=[Phase.generate], **QUIET)
settings.register_profile("long", max_examples=1000, print_blob=True, **QUIET)
settings.load_profile("short")
