"""A comparison as one long table."""

import csv
import io
import math
from collections.abc import Iterator

import pytest

from tests.support.finished_runs import (
    TIED_NATS,
    TOKENS,
    UNTIED_NATS,
    curve,
    example_comparison,
    runs,
    split_result,
    summarize,
)
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.long_table import Figure
from tiedlm.report.formats.csv import comparison_csv
from tiedlm.report.sections.section import Section


def lines(comparison: Comparison) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(comparison_csv(comparison), newline="")))


def values(comparison: Comparison, **wanted: str) -> Iterator[str]:
    for line in lines(comparison):
        if all(line[key] == value for key, value in wanted.items()):
            yield line["value"] or line["text"]


def value(comparison: Comparison, **wanted: str) -> str:
    (found,) = values(comparison, **{"seed": "", "split": "", **wanted})
    return found


def test_there_is_one_line_for_each_figure_a_number_a_word_or_a_reason() -> None:
    table = lines(example_comparison())
    assert list(table[0]) == ["variant", "seed", "split", "metric", "value", "step", "text", "reason"]
    keys = [tuple(line[key] for key in ("variant", "seed", "split", "metric", "step")) for line in table]
    assert len({*keys}) == len(keys)
    assert all(sum(bool(line[column]) for column in ("value", "text", "reason")) == 1 for line in table)
    for line in table:
        assert not line["value"] or math.isfinite(float(line["value"])), "a column of numbers"
    (peak,) = [line for line in table if (line["variant"], line["metric"]) == ("tied", "gpu_peak_allocated_bytes")]
    assert peak["reason"] == "no GPU"


def test_a_text_without_spaces_has_a_reason_in_place_of_each_perplexity_per_word() -> None:
    table = lines(example_comparison(splits={"test": split_result(4.0, words=59, bytes=4_022)}))
    found = [line for line in table if line["metric"] == "word_perplexity"]
    assert len(found) == 12 and not any(line["value"] for line in found)
    assert all("does not put white space between its words" in line["reason"] for line in found)


def test_figures_are_exact_and_agree_with_each_other() -> None:
    comparison = example_comparison()
    nll = float(value(comparison, variant="tied", seed="2", split="test", metric="nll"))
    assert nll == TIED_NATS[2] * TOKENS
    perplexity = float(value(comparison, variant="tied", seed="2", split="test", metric="token_perplexity"))
    assert perplexity == pytest.approx(math.exp(TIED_NATS[2]), rel=1e-15)
    sums = [float(found) for found in values(comparison, variant="tied", split="test", metric="nll")]
    assert sums[0] == pytest.approx(sum(sums[1:])), "over all seeds, then each"


def test_a_difference_stands_at_its_variant_for_each_seed_and_over_them() -> None:
    comparison = example_comparison()
    for seed, (mine, theirs) in enumerate(zip(TIED_NATS, UNTIED_NATS, strict=True)):
        found = value(comparison, variant="tied", seed=str(seed), split="test", metric="difference")
        assert float(found) == pytest.approx(mine - theirs)
    low, high = comparison.differences[0].ci95_seeds or (None, None)
    for end, expected in (("low", low), ("high", high)):
        assert float(value(comparison, variant="tied", split="test", metric=f"difference_ci95_seeds_{end}")) == expected
    assert value(comparison, variant="tied", split="test", metric="verdict") == "better"
    assert list(values(comparison, variant="untied", metric="difference")) == []


def test_a_body_of_equal_size_has_no_verdict_but_by_itself_and_the_variant_that_of_both() -> None:
    """A reader who filters by `verdict` must not find one that only both ways of matching may give."""
    added = {"matched_width": 0.05, "matched_depth": -0.05}
    names = [f"tied+{role.removeprefix('matched_')}" for role in added]
    results = [*runs("untied", UNTIED_NATS), *runs("tied", TIED_NATS)]
    for name, (role, shift) in zip(names, added.items(), strict=True):
        shifted = runs(
            name, [nats + shift for nats in UNTIED_NATS[:2]] + [nats + 1.01 * shift for nats in UNTIED_NATS[2:]]
        )
        added_as = {"role": role, "of": "tied"}
        untied = results[0].parameters
        results += [
            run.model_copy(update={"config": run.config | {"added": added_as}, "parameters": untied}) for run in shifted
        ]
    comparison = summarize(results, [], "example", "untied", ["tied", "untied", *names])
    assert [value(comparison, variant=name, split="test", metric="verdict_by_itself") for name in names] == [
        "worse",
        "better",
    ]
    assert {line["variant"] for line in lines(comparison) if line["metric"] == "verdict"} == {"tied"}
    found = value(comparison, variant="tied", split="test", metric="verdict_at_equal_parameters")
    assert found == "cannot_tell"
    assert not any(found.is_primary for found in comparison.all_differences if found.variant != "tied")


def test_a_p_value_says_how_many_it_was_corrected_for() -> None:
    names = ("tied", "soft", "half")
    shifted = (runs(name, [nats - 0.01 * place for nats in TIED_NATS]) for place, name in enumerate(names))
    results = [*runs("untied", UNTIED_NATS), *(run for own in shifted for run in own)]
    comparison = summarize(results, [], "example", "untied", ["untied", *names])
    corrected = [value(comparison, variant=name, split="test", metric="difference_p_corrected_for") for name in names]
    assert corrected == ["1", "2", "2"]


def test_points_of_a_curve_have_a_step() -> None:
    results = [run.model_copy(update={"validation_curve": curve(run)}) for run in runs("tied", TIED_NATS)]
    comparison = summarize(results, [], "example", "tied", ["tied"])
    points = [line for line in lines(comparison) if line["step"]]
    assert len(points) == 5 * 4 * 3
    last = value(
        comparison, variant="tied", seed="1", split="validation", metric="validation_curve_nats_per_token", step="3052"
    )
    assert float(last) == pytest.approx(TIED_NATS[1] + 0.05)


def test_a_name_with_commas_quotes_and_lines_stays_one_field() -> None:
    name = 'a,"b"\n=c'
    table = lines(summarize(runs(name, TIED_NATS), [], "example", name, [name]))
    assert {line["variant"] for line in table} == {name}


def test_the_figures_of_a_section_stand_at_their_variant() -> None:
    section = Section("Size", figures=lambda comparison, variant: [Figure(variant, None, "test", "size", len(variant))])
    table = list(csv.DictReader(io.StringIO(comparison_csv(example_comparison(), [section]), newline="")))
    assert {line["variant"]: line["value"] for line in table if line["metric"] == "size"} == {
        "tied": "4",
        "untied": "6",
    }
    assert [line["metric"] for line in table if line["variant"] == "tied"][-1] == "size"
