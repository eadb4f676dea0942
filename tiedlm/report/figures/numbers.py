"""Numbers as text: thousands separated, no more digits than they carry, a dash where there is none."""

import math

from tiedlm.comparison.verdict import signed_together
from tiedlm.report.figures.table import NOTHING as NOTHING

NOT_MEASURED = "not measured"
_HUGE = 1e9


def count(value: int | None) -> str:
    """12,345,678."""
    return NOTHING if value is None else f"{value:,}"


def change(value: int, percent: float | None) -> str:
    """ "-12,345 (-1.2 %)"."""
    sign = "+" if value > 0 else ""
    share = "" if percent is None else f" ({signed_percent(percent)})"
    return f"{sign}{value:,}{share if value else ''}"


def signed_percent(percent: float) -> str:
    """ "-36.3 %"; a percentage that would round to 0 without being 0 has as many decimals as it needs."""
    return f"{percent:+.1f} %" if abs(percent) >= 0.05 or not percent else f"{percent:+.{_first_digit(percent)}f} %"


def _first_digit(value: float) -> int:
    """The decimal in which a small number has its first digit."""
    return -math.floor(math.log10(abs(value)))


def share_percent(share: float | None) -> str:
    """ "24.1 %" of a share between 0 and 1; a second decimal below a tenth."""
    return NOTHING if share is None else f"{100 * share:.{2 if share < 0.1 else 1}f} %"


def decimal(value: float | None, decimals: int) -> str:
    """Fixed decimals, thousands separated; powers of ten from 1e9 on."""
    if value is None:
        return NOTHING
    return f"{value:,.{decimals}f}" if abs(value) < _HUGE else f"{value:.5g}"


def spread(value: float | None, sd: float | None, decimals: int) -> str:
    """ "84.31 ± 0.42": at least `decimals`, more where the spread has its two digits further down (at most 6)."""
    if sd is None:
        return decimal(value, decimals)
    if sd > 0:
        decimals = min(max(decimals, 1 - math.floor(math.log10(sd))), 6)
    return f"{decimal(value, decimals)} ± {decimal(sd, decimals)}"


def with_interval(value: float, interval: tuple[float, float] | None) -> str:
    """ "-0.031 [-0.040, -0.022]", with a sign and equal decimals; the value alone where there is no interval."""
    return bracketed(*signed_together(value, interval))


def bracketed(value: str, *ends: str) -> str:
    """ "value [low, high]"; the value alone where there are no ends."""
    return f"{value} [{', '.join(ends)}]" if ends else value


def memory(num_bytes: int | None, missing: str = NOT_MEASURED) -> str:
    """MiB; `missing` where there is no figure."""
    return missing if num_bytes is None else f"{num_bytes / 2**20:,.1f} MiB"


def speed(per_second: float | None) -> str:
    """A rate with at least three digits."""
    return decimal(per_second, 0 if per_second is None or per_second >= 100 else 2)


def seconds(value: float) -> str:
    """A duration with at least three digits."""
    return decimal(value, 0 if value >= 100 else 1 if value >= 10 else 2)


def switch(is_on: bool) -> str:
    """ "on" or "off"."""
    return "on" if is_on else "off"
