"""Members and scenarios in place of a distribution."""
