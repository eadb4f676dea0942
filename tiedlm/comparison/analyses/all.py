"""Every analysis of a comparison. To add one, write its file in this folder and name it in this list. Free of torch.

It is stored then; a section of its own (tiedlm/report/sections) shows it.
"""

from tiedlm.comparison.analyses import (
    budget,
    frequency,
    noise_floor,
    recipe_differences,
    signs,
    tokens_to_reach,
    training_loss,
)

ANALYSES = (
    training_loss.ANALYSIS,
    noise_floor.ANALYSIS,
    tokens_to_reach.ANALYSIS,
    frequency.ANALYSIS,
    budget.ANALYSIS,
    recipe_differences.ANALYSIS,
    signs.ANALYSIS,
)
"""In the order in which they are stored."""
