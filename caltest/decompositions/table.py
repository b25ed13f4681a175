"""Numbers, their intervals and their means under calibration."""

from collections.abc import Iterable

from caltest.results.result import ConfidenceInterval


def table(rows: Iterable[tuple[str, float | None, ConfidenceInterval, float | None]]) -> list[str]:
    """Lines of a table with a header; what is None is not known."""
    filled = list(rows)
    level = f"{100.0 * filled[0][2].confidence_level:g} % interval"
    lines = [f"  {'':<16}{'':>7}  {level:>18}  if calibrated"]
    for name, number, interval, mean in filled:
        ends = f"[{interval.low:.4f}, {interval.high:.4f}]"
        lines.append(f"  {name:<16}{_shown(number):>7}  {ends:>18}  {_shown(mean):>13}")
    return lines


def _shown(number: float | None) -> str:
    return "none" if number is None else f"{number:.4f}"
