"""The verdict in words, with the conditions under which it holds. Nothing here assumes a direction."""

import math
from collections.abc import Iterable, Sequence
from typing import Self, TypeVar

from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.recipe import recipe_in_words
from tiedlm.comparison.significance import LEVEL
from tiedlm.config.base import Config
from tiedlm.run.result import RunResult

UNIT = "nats per token"
Value = TypeVar("Value")


class Conditions(Config):
    """What every verdict names. More than one value where the runs do not agree.

    `recipe` is a phrase, see tiedlm/comparison/recipe; empty where an earlier version stored the comparison.
    """

    text: list[str]
    vocab_size: list[int]
    dim: list[int]
    tokens_seen: list[int]
    precision: list[str]
    num_seeds: int
    recipe: str = ""

    @classmethod
    def of(cls, runs: Sequence[RunResult]) -> Self | None:
        """The conditions of some runs; null without any."""
        if not runs:
            return None
        return cls(
            text=_unique(run.corpus.caption for run in runs),
            vocab_size=_unique(run.corpus.vocab_size for run in runs),
            dim=_unique(run.config["model"]["dim"] for run in runs),
            tokens_seen=_unique(run.tokens_seen for run in runs),
            precision=_unique(run.effective.precision for run in runs),
            num_seeds=len({run.seed for run in runs}),
            recipe=recipe_in_words(runs),
        )

    def words(self) -> str:
        """ "WikiText-103; V=32,000, D=768, 100M tokens, bf16"."""
        size = " and ".join(f"{value:,}" for value in self.vocab_size)
        width = " and ".join(f"{value:,}" for value in self.dim)
        length = " and ".join(_unique(rounded(value) for value in self.tokens_seen))
        text, precision = " and ".join(self.text), " and ".join(self.precision)
        return f"{text}; V={size}, D={width}, {length} tokens, {precision}"


def _unique(values: Iterable[Value]) -> list[Value]:
    return list(dict.fromkeys(values))


def rounded(count: int) -> str:
    """Three significant digits: 812, 4.19M, 103M."""
    for size, suffix in ((10**9, "B"), (10**6, "M"), (10**3, "k")):
        if count >= 0.9995 * size:
            return f"{float(f'{count / size:.3g}'):g}{suffix}"
    return str(count)


def conditions_in_words(conditions: Conditions, is_final: bool = True) -> str:
    """ "On WikiText-103; V=32,000, D=768, 100M tokens, bf16, 5 seeds; adamw at 0.0006, .."."""
    recipe = f"; {conditions.recipe}" if conditions.recipe else ""
    return f"On {conditions.words()}, {seeds_in_words(conditions.num_seeds)}{'' if is_final else ', so far'}{recipe}"


def statements(finished: FinishedRuns, num_failures: int = 0) -> list[str]:
    """What the test split says of each variant, and what a reader must not forget with it. Without a full stop."""
    on_test = [difference for difference in finished.differences if difference.split == "test"]
    on_test.sort(key=lambda difference: not difference.is_primary)
    size = finished.smallest_worthwhile
    said = [
        describe(difference, size)
        + over_seeds_in_common(difference.num_seeds, finished.num_seeds)
        + _outlook(difference, size)
        for difference in on_test
    ]
    if not said:
        said = [_nothing_to_compare(finished.variants_of_file, finished.baseline)]
    if len(said) > 1:
        said.append(_roles(on_test))
    return [*said, *failures_in_words(num_failures)]


def failures_in_words(count: int) -> list[str]:
    """ "one run failed and stands in no figure"; nothing where none did."""
    if not count:
        return []
    return ["one run failed and stands in no figure" if count == 1 else f"{count} runs failed and stand in no figure"]


def _roles(differences: Sequence[Difference]) -> str:
    """Which comparison was the one to make, and what was done about the others."""
    explored = [difference for difference in differences if not difference.is_primary]
    which = "all of these comparisons are"
    if len(explored) < len(differences):
        others = "the other is" if len(explored) == 1 else f"the other {len(explored)} are"
        which = f"{differences[0].variant} against {differences[0].baseline} is the primary comparison, {others}"
    corrected = max(difference.num_corrected_for for difference in explored)
    note = f", with verdicts Holm-corrected for {corrected} comparisons" if corrected > 1 else ""
    return f"{which} exploratory{note}"


def _outlook(difference: Difference, size: float) -> str:
    """How many seeds would tell, where it cannot be told yet."""
    return f", and {seeds_needed_in_words(difference.seeds_needed, size)}" if difference.seeds_needed else ""


def seeds_needed_in_words(needed: tuple[int, int], size: float) -> str:
    """ "6 to 20 seeds would tell a difference of 0.01"."""
    low, high = needed
    count = rounded(low) if low == high else f"{rounded(low)} to {rounded(high)}"
    return f"{count} seeds would tell a difference of {size:g}"


def _nothing_to_compare(finished: Sequence[str], baseline: str) -> str:
    if baseline not in finished:
        return f"the baseline {baseline} has not finished, so there is nothing to compare {', '.join(finished)} with"
    if len(finished) == 1:
        return f"{baseline} alone has finished, so there is nothing to compare it with"
    return "no test split was scored, so there is nothing to compare"


def over_seeds_in_common(count: int, of: int) -> str:
    """ ", over the 3 seeds in common", where these are not all."""
    return "" if count in (0, of) else f", over the {seeds_in_words(count)} in common"


def seeds_in_words(count: int) -> str:
    """ "one seed", "5 seeds"."""
    return "one seed" if count == 1 else f"{count} seeds"


def describe(difference: Difference, smallest_worthwhile: float) -> str:
    """What one difference says: who is better, by how much, how sure; or that it cannot be told, and why."""
    variant, baseline, mean = difference.variant, difference.baseline, difference.mean
    if difference.verdict == "no_difference":
        return f"there is no difference between {variant} and {baseline}: equal to the last bit on {difference.split}"
    unknown = f"cannot tell whether {variant} or {baseline} is better on {difference.split}"
    if difference.num_seeds == 0:
        return f"{unknown}: no seed has finished in both"
    if mean is None:
        return f"{unknown}: they did not score the same tokens ({'; '.join(difference.pairing.reasons)})"
    if difference.pairing.level == "none":
        return f"{unknown}: the runs are not pairs ({'; '.join(difference.pairing.reasons)})"
    if difference.ci95_seeds is None:
        return f"{unknown} from one seed, which has no spread: {_of_these_checkpoints(difference, mean)}"
    interval = difference.interval
    assert interval is not None
    size, low, high = signed_together(mean, interval)
    if difference.p_difference is None:
        return f"{unknown}: all seeds differ by exactly {size} {UNIT}, as independent runs do not"
    if difference.verdict == "equal":
        return _describe_equal(difference, mean, smallest_worthwhile)
    if difference.verdict == "cannot_tell":
        holds = interval[0] <= 0 <= interval[1]
        how_sure = f"95 % interval {low} to {high}{', which holds 0' if holds else ''}{_correction(difference)}"
        return f"{unknown}: the difference is {size} {UNIT} ({how_sure})"
    who = f"{variant} is {difference.verdict} than {baseline}"
    how_sure = f"95 % interval {low} to {high}{_correction(difference)}"
    return f"{who} by {size.lstrip('+-')} {UNIT} ({how_sure}) on {difference.split}"


def _describe_equal(difference: Difference, mean: float, worthwhile: float) -> str:
    """That the two are equal for practical purposes; and also, where it is so, that they differ none the less."""
    size, low, high = signed_together(mean, difference.ci90_corrected or difference.ci90_seeds)
    pair = f"{difference.variant} and {difference.baseline} are equal for practical purposes on {difference.split}"
    within = f"90 % interval {low} to {high}, within ±{worthwhile:g}"
    said = f"{pair}: the difference is {size} {UNIT} ({within}{_correction(difference, difference.p_equal)})"
    if difference.p_difference is None or difference.p_difference >= LEVEL:
        return said
    favoured = difference.variant if mean < 0 else difference.baseline
    _, low, high = signed_together(mean, difference.interval)
    return f"{said}, in favour of {favoured} and too small to matter, though not 0 (95 % interval {low} to {high})"


def _of_these_checkpoints(difference: Difference, mean: float) -> str:
    """What one seed can say: whether two checkpoints differ on this kind of text, and nothing of the two ways."""
    if difference.ci95_text is None:
        return f"the difference is {signed_together(mean)[0]} {UNIT}"
    size, low, high = signed_together(mean, difference.ci95_text)
    interval = f"95 % interval over {difference.num_documents:,} documents {low} to {high}"
    if difference.ci95_text[0] <= 0 <= difference.ci95_text[1]:
        return f"not even these two checkpoints can be told apart, {size} {UNIT} ({interval}, which holds 0)"
    return f"these two checkpoints differ, by {size} {UNIT} ({interval}), which says nothing of other seeds"


def _correction(difference: Difference, p: float | None = None) -> str:
    """Marks a verdict and interval corrected for the number of comparisons, with the p-value that decided."""
    if difference.num_corrected_for == 1:
        return ""
    value = difference.p_difference if p is None else p
    assert value is not None
    return f", Holm-corrected p {p_value_in_words(value)}"


def p_value_in_words(value: float) -> str:
    """ "= 0.031"; never rounded to the level of the tests."""
    if value < 0.001:
        return "< 0.001"
    digits = next((digits for digits in range(2, 17) if float(f"{value:.{digits}g}") != LEVEL), 17)
    return f"= {value:.{digits}g}"


def signed_together(mean: float, interval: tuple[float, float] | None = None) -> list[str]:
    """A difference and the ends of its interval, signed, with equally many decimals.

    At least three, and enough for two digits of the smallest of them and of the interval's half width.
    """
    values = [mean, *(interval or ())]
    scales = [*values, (interval[1] - interval[0]) / 2] if interval else values
    smallest = min((abs(scale) for scale in scales if scale), default=1.0)
    decimals = min(max(3, 1 - math.floor(math.log10(smallest))), 9)
    return [f"{value:+.{decimals}f}" if value else f"{0:.{decimals}f}" for value in values]
