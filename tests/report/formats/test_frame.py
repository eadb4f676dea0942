"""Data frames hold the figures of the stored comparison: numbers as numbers, NaN where there is none."""

import io
from typing import Any

import pandas as pd
import pytest

from tests.support.finished_runs import example_comparison
from tiedlm.report.formats.csv import comparison_csv
from tiedlm.report.formats.frame import comparison_frame

COMPARISON = example_comparison()
TEXT = {"tying", "baseline", "verdict", "pairing"}


def is_numeric(column: Any) -> bool:
    return bool(pd.api.types.is_numeric_dtype(column))


@pytest.mark.parametrize("of", ["variants", "runs", "differences", "curve"])
def test_columns_are_numeric_unless_they_are_words(of: Any) -> None:
    frame = comparison_frame(COMPARISON, of)
    words = {name for name in frame if not is_numeric(frame[name])}
    assert {name.removeprefix("test_").removeprefix("validation_") for name in words} <= TEXT
    assert frame.index.is_unique


def test_every_line_of_the_csv_is_a_cell() -> None:
    variants, runs = comparison_frame(COMPARISON), comparison_frame(COMPARISON, "runs")
    table = pd.read_csv(io.StringIO(comparison_csv(COMPARISON, sections=())), keep_default_na=False)
    checked = 0
    for row in table.itertuples():
        column = f"{row.split}_{row.metric}" if row.split else row.metric
        if row.step != "":
            continue
        cell = variants.loc[row.variant, column] if row.seed == "" else runs.loc[(row.variant, int(row.seed)), column]
        if row.reason:
            continue
        assert cell == row.text if isinstance(cell, str) else float(cell) == float(row.value), column
        checked += 1
    assert checked > 100
    assert int(variants.notna().sum().sum() + runs.notna().sum().sum()) == checked


def test_what_is_missing_is_nan_of_a_numeric_column() -> None:
    frame = comparison_frame(COMPARISON)
    assert pd.isna(frame.loc["untied", "test_difference"]) and is_numeric(frame["test_difference"])
    one_seed = comparison_frame(example_comparison(num_seeds=1))
    spread = one_seed["test_token_perplexity_sd"]
    assert spread.isna().all() and is_numeric(spread)
    interval = comparison_frame(example_comparison(num_seeds=1), "differences")["ci95_seeds_low"]
    assert interval.isna().all() and is_numeric(interval)


def test_differences_and_spreads_are_those_of_the_runs() -> None:
    runs, variants = comparison_frame(COMPARISON, "runs"), comparison_frame(COMPARISON)
    differences = comparison_frame(COMPARISON, "differences")
    nats = runs["test_nats_per_token"].unstack("variant")
    mean = (nats["tied"] - nats["untied"]).mean()
    assert differences.loc[("tied", "test"), "difference"] == pytest.approx(mean)
    assert variants["test_nats_per_token_sd"].to_dict() == pytest.approx(nats.std().to_dict())


def test_nothing_finished_is_an_empty_frame() -> None:
    empty = COMPARISON.model_copy(update={"variants": [], "differences": []})
    for of in ("variants", "runs", "differences", "curve"):
        assert comparison_frame(empty, of).empty
