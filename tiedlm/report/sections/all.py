"""Every section of a report. To add one, write its file in this folder and name it in this list.

Most show an analysis of tiedlm/comparison/analyses, which has a list of its own.
"""

from tiedlm.report.sections import (
    budget,
    frequency,
    noise_floor,
    parameters_and_memory,
    recipe_differences,
    signs,
    tokens_to_reach,
    training_curves,
    tuning,
)

SECTIONS = (
    recipe_differences.SECTION,
    signs.SECTION,
    training_curves.SECTION,
    tuning.SECTION,
    noise_floor.SECTION,
    budget.SECTION,
    tokens_to_reach.SECTION,
    frequency.SECTION,
    parameters_and_memory.SECTION,
)
"""In the order in which every format shows them."""
