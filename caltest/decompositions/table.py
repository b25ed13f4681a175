"""Numbers, their intervals and their means under calibration."""

from collections.abc import Iterable

from caltest._results.confidence_interval import ConfidenceInterval


def table(rows: Iterable[tuple[str, float | None, ConfidenceInterval, float | None]]) -> list[str]:
    """Lines of a table with a header: what was observed, what the interval is about, the interval and the mean."""
    filled = list(rows)
    level = f"{100.0 * filled[0][2].confidence_level:g} % interval"
    lines = [f"  {'':<16}observed  estimate  {level:>18}  if calibrated"]
    for name, number, interval, mean in filled:
        ends = f"[{interval.low:.4f}, {interval.high:.4f}]"
        shown = f"{_shown(number):>8}  {_shown(interval.estimate):>8}"
        lines.append(f"  {name:<16}{shown}  {ends:>18}  {_shown(mean):>13}")
    return lines


def _shown(number: float | None) -> str:
    return "none" if number is None else f"{number:.4f}"
