"""Signs that a comparison is too young, or that its recipe cripples an arm: one sentence for each kind, its figures."""

from collections.abc import Iterator, Sequence

from tiedlm.comparison.analyses.signs import Signs
from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.signs.sign import Sign
from tiedlm.report.figures import numbers
from tiedlm.report.figures.cells import known
from tiedlm.report.figures.table import Row, Table
from tiedlm.report.figures.text import capitalized
from tiedlm.report.sections.section import MAX_VARIANTS_AT_A_GLANCE, Section


def _at_a_glance(comparison: Comparison) -> Iterator[str]:
    """The first sign of each kind in full, the others of its kind by name."""
    found = comparison.analysis(Signs)
    kinds: dict[str, list[Sign]] = {}
    for sign in found.signs if found else ():
        kinds.setdefault(sign.kind, []).append(sign)
    for first, *others in kinds.values():
        yield f"{capitalized(first.statement)}{_so_too(others)}."


def _so_too(others: Sequence[Sign]) -> str:
    """ "; so too: tied, soft-0.1 and 2 more"."""
    if not others:
        return ""
    named = ", ".join(sign.subject for sign in others[:MAX_VARIANTS_AT_A_GLANCE])
    left_out = len(others) - MAX_VARIANTS_AT_A_GLANCE
    return f"; so too: {named}{f' and {left_out} more' if left_out > 0 else ''}"


def _tables(comparison: Comparison) -> list[Table]:
    """How far validation still fell, and how far a step moves each embedding and the body beside it."""
    found = comparison.analysis(Signs)
    if found is None:
        return []
    tables: list[Table] = []
    if any(fall.nats is not None for fall in found.falls):
        cells = (known(fall.nats, lambda nats: numbers.decimal(nats, 3), fall.reason) for fall in found.falls)
        row = Row.of("nats per token", cells)
        title = "How far validation fell over the last doubling of tokens"
        tables.append(Table(tuple(fall.variant for fall in found.falls), (row,), title=title))
    measured = [each for each in found.movements if each.part is not None]
    if measured:
        names = tuple(f"{each.variant}, {(each.part or '').replace('_', ' ')}" for each in measured)
        rows = (
            Row.of("embedding", (known(each.ratio, _ratio, each.reason) for each in measured)),
            Row.of("body", (known(each.body, _ratio, each.reason) for each in measured)),
            Row.of("quotient", (known(each.quotient, _quotient, each.reason) for each in measured)),
        )
        title = "Size of a step beside that of the weights: median over steps, mean over seeds"
        tables.append(Table(names, rows, names_as="lines", title=title))
    return tables


def _ratio(ratio: float) -> str:
    return numbers.decimal(ratio, 5)


def _quotient(quotient: float) -> str:
    return numbers.decimal(quotient, 2)


SECTION = Section("Signs to doubt it", at_a_glance=_at_a_glance, remarks=_at_a_glance, tables=_tables)
