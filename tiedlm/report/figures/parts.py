"""What the parts of an experiment, its recipes or budgets, have in common, and what each of them changes."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.parts.document import PartComparison, PartsComparison
from tiedlm.comparison.variant_summary import VariantSummary
from tiedlm.comparison.verdict import conditions_in_words, seeds_in_words
from tiedlm.report.figures.cells import shown_variants
from tiedlm.report.figures.context import warnings
from tiedlm.report.figures.text import key_in_words

Value = TypeVar("Value")


def kind_of_part(document: PartsComparison) -> str:
    """ "recipe" or "budget"."""
    return "recipe" if document.recipes else "budget"


def finished_comparisons(document: PartsComparison) -> list[Comparison]:
    """Those of the parts of which a run has finished."""
    return [part.comparison for part in document.parts if part.comparison and part.comparison.variants]


def compared_variants(document: PartsComparison) -> list[str]:
    """The variants that are held against the baseline."""
    if document.recipes:
        return _unique(each.variant for each in document.recipes.across)
    return _unique(each.variant for each in document.budgets.trends) if document.budgets else []


def variant_names(document: PartsComparison) -> list[str]:
    """All variants in the order of the parts' own tables, which decides their colours too."""
    shown = (variant.name for found in finished_comparisons(document) for variant in shown_variants(found))
    return _unique([*shown, *compared_variants(document), document.baseline])


def variant_of(part: PartComparison, name: str) -> VariantSummary | None:
    """A variant under one recipe or at one budget; None where none of its runs has finished."""
    variants = part.comparison.variants if part.comparison else []
    return next((variant for variant in variants if variant.name == name), None)


def conditions_of_parts(document: PartsComparison) -> str:
    """ "On WikiText-103; V=32,000, D=768, 100M tokens, fp32, 5 seeds; 6 recipes"; empty where no run has finished."""
    return conditions_in_words(document.conditions, not document.pending) if document.conditions else ""


def warnings_of_parts(document: PartsComparison) -> list[str]:
    """What a reader must know before any figure, with the parts of which it is true where these are not all."""
    parts_of: dict[str, list[str]] = {}
    finished = [part for part in document.parts if part.comparison and part.comparison.variants]
    for part in finished:
        for warning in warnings(part.comparison) if part.comparison else ():
            parts_of.setdefault(warning, []).append(part.part)
    return [said if len(names) == len(finished) else f"{', '.join(names)}: {said}" for said, names in parts_of.items()]


def settings_in_words(settings: Mapping[str, Any]) -> str:
    """ "training.learning_rate = 0.003, model.init_std = 0.05"; "nothing" where there is none."""
    return ", ".join(f"{key} = {value_in_words(value)}" for key, value in settings.items()) or "nothing"


def value_in_words(value: object) -> str:
    """A value as a config writes it."""
    if isinstance(value, float):
        return f"{value:g}"
    return value if isinstance(value, str) else json.dumps(value)


def settings_sentences(document: PartsComparison) -> Iterator[str]:
    """What each part changes of the experiment, in its order."""
    for part in document.parts:
        yield f"{part.part} changes {settings_in_words(part.settings)}."


def missing_in_parts(document: PartsComparison) -> Iterator[str]:
    """Which runs failed, how many are still to come, and in which parts."""
    for failure, part in zip(document.failures, document.part_of_failures, strict=True):
        at = "" if failure.step is None else f" at step {failure.step:,}"
        yield f"Failed: {part}, {failure.variant}, seed {failure.seed} ({failure.kind}{at}): {failure.message}"
    if document.pending:
        counts = {name: document.part_of_pending.count(name) for name in document.part_of_pending}
        where = ", ".join(f"{count} of {name}" for name, count in counts.items())
        total = len(document.pending)
        yield f"Not finished yet: {total} planned run{'s' if total > 1 else ''} ({where})."


def part_title(document: PartsComparison, part: PartComparison) -> str:
    """ "Recipe wide-init"; the name of a budget is its title."""
    return f"Recipe {part.part}" if document.recipes else part.part


def part_headline(part: PartComparison) -> str:
    """One sentence on a part by itself."""
    if part.comparison is None:
        return "No run of it has finished."
    return part.comparison.verdict


def verdicts_of_part(part: PartComparison) -> str:
    """ "tied better, soft cannot tell": the verdict of each variant on test."""
    found = part.comparison.differences if part.comparison else []
    said = [f"{each.variant} {key_in_words(each.verdict)}" for each in found if each.split == "test"]
    return ", ".join(said) or "nothing to compare yet"


def seeds_listed(seeds: Sequence[int]) -> str:
    """ "seed 0", "seeds 1, 2, 3"; of more than five how many."""
    if not 0 < len(seeds) <= 5:
        return seeds_in_words(len(seeds)) if seeds else "no seed"
    return f"seed{'s' if len(seeds) > 1 else ''} {', '.join(map(str, seeds))}"


def _unique(values: Iterable[Value]) -> list[Value]:
    return list(dict.fromkeys(values))
