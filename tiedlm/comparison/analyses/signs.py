"""What speaks for a comparison being too young, or its recipe crippling an arm? Free of torch.

Four signs: the loss still falls by more than the difference, embeddings move much less than the body, the search of
settings leaves a larger doubt than the difference, a choice lies at the edge of what was tried. Where a figure is
absent there is no sign.
"""

from tiedlm.comparison.analyses.analysis import Analysis
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.signs.falling import Fall, falling_signs, falls
from tiedlm.comparison.signs.movement import Movement, movements, slow_signs
from tiedlm.comparison.signs.searched import edge_signs, searched_signs
from tiedlm.comparison.signs.sign import Sign
from tiedlm.config.base import Config


class Signs(Config):
    """The signs, those of one kind together; and the figures that two of them come from, also where all is well."""

    signs: list[Sign]
    falls: list[Fall]
    movements: list[Movement]


def measure(finished: FinishedRuns) -> Signs | None:
    """None where no run has finished."""
    if not finished.by_variant:
        return None
    fell, moved = falls(finished), movements(finished)
    signs = [
        *falling_signs(finished, fell),
        *slow_signs(moved),
        *searched_signs(finished),
        *edge_signs(finished),
    ]
    return Signs(signs=signs, falls=fell, movements=moved)


ANALYSIS = Analysis("signs", Signs, measure)
