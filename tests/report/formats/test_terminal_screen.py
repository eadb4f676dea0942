"""The one screen that a comparison is shown on, and what is left to the details."""

import io
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.finished_runs import (
    TIED_NATS,
    UNTIED_NATS,
    compared,
    effective,
    example_comparison,
    runs,
    split_result,
)
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.formats.terminal import render_comparison
from tiedlm.run.result import Memory

GPU_MEMORY = Memory(
    gpu_peak_allocated_bytes=3 * 2**30 + 2**19,
    gpu_peak_reserved_bytes=4 * 2**30,
    predicted_peak_bytes=2**30,
    host_peak_rss_bytes=2**30,
)


def shown(comparison: Comparison, width: int = 80, details: bool = False, stored_in: Path | None = None) -> str:
    stream = io.StringIO()
    command = "tiedlm report runs/example" if stored_in else ""
    render_comparison(comparison, Console(file=stream, width=width), details, stored_in=stored_in, command=command)
    return stream.getvalue()


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def test_one_screen_holds_all_that_it_must_and_the_verdict_last() -> None:
    comparison = example_comparison()
    lines = shown(comparison, 80, stored_in=Path("runs/example")).splitlines()
    assert len(lines) <= 21, "the command above and the prompt below it stay on the screen"
    text, test = unwrapped("\n".join(lines)), comparison.variants[0].splits["test"]
    assert text.endswith(comparison.verdict)
    for words in (
        "parameters 124,439,808 163,037,184",
        "against untied -38,597,376 (-23.7 %) baseline",
        f"test perplexity {test.token_perplexity:.2f} ± {test.token_perplexity_sd:.2f}",
        "test difference -0.0312 [-0.0349, -0.0275] baseline",
        "peak GPU memory no GPU no GPU",
        "peak host memory, max 1,177.4 MiB",
        "tokens/s, mean 97,804",
        "below 0 favours tied, above 0 favours untied",
        "start and batches were equal; they differ in: model.tying.type.",
        "Stored in runs/example; all of it (--html FILE: as a page): tiedlm report runs/example --details",
        "On WikiText-103 (wikitext-103-v1); V=32,000, D=768, 100M tokens, fp32, 5 seeds; adamw at 0.0006, ",
    ):
        assert words in text, words
    for left_out in ("FLOPs", "per word", "nll", "Break-even", "validation", "bootstrap", "Text:"):
        assert left_out not in text, left_out


def test_the_details_hold_the_rest_and_end_as_the_screen_does() -> None:
    screen, details = (shown(example_comparison(), 80, details=each) for each in (False, True))
    assert details.endswith(screen)
    text = unwrapped(details)
    tied = example_comparison().variants[0]
    for words in (
        "shared embedding 38,597,376 0",
        "FLOPs per token 741,857,280",
        f"train nll per token {tied.splits['train'].nats_per_token:.4f}",
        f"validation nll per token {tied.splits['validation'].nats_per_token:.4f}",
        "(unigram) reach a test perplexity of 1,000.00",
        "Tying saves 38,597,376 parameters: tied has 23.7 % fewer than untied.",
    ):
        assert words in text, words


@pytest.mark.parametrize("changes", [{}, {"memory": GPU_MEMORY, "effective": effective(device="cuda")}])
def test_memory_of_the_gpu_and_of_the_host_have_a_row_each_wherever_it_ran(changes: dict[str, Any]) -> None:
    text = unwrapped(shown(example_comparison(**changes), 80))
    assert ("peak GPU memory no GPU no GPU" in text) == (not changes)
    assert ("peak GPU memory, max 3,072.5 MiB 3,072.5 MiB" in text) == bool(changes)
    assert "peak host memory, max" in text


def test_keys_in_which_the_variants_differ_stand_beside_an_equal_start() -> None:
    config = runs("tied", TIED_NATS)[0].config
    scaled = config | {"model": config["model"] | {"tying": {"type": "tied", "input_scale": 11.3}}}
    text = unwrapped(shown(compared(*[*runs("tied", TIED_NATS, config=scaled), *runs("untied", UNTIED_NATS)]), 80))
    assert "differ in: model.tying.type and their recipes." in text
    assert "tied and untied have recipes of their own: input_scale 11.3 / 1 (by config)." in text
    assert "input scale 11.3 (tied) and 1 (untied)" in text, "among the conditions of the verdict"


def test_one_seed_is_shown_as_one_seed_and_why_it_has_neither_spread_nor_interval() -> None:
    text = unwrapped(shown(example_comparison(num_seeds=1), details=True))
    assert "seeds one seed one seed" in text
    assert "test difference (tied): no interval, one seed has no spread." in text
    assert "no ±, one seed has no spread." in text
    assert "[" not in text, "an interval"


def test_a_figure_that_is_absent_has_its_reason_beside_it() -> None:
    huge = example_comparison(splits={"test": split_result(800.0)})
    why = "test perplexity: none, exp of 800.0 nats per token is beyond the largest number of float64."
    assert why in unwrapped(shown(huge, 80))
    no_spaces = example_comparison(splits={"test": split_result(4.0, words=59, bytes=4_022)})
    assert "test perplexity per word: none, the text does not put white space" in unwrapped(
        shown(no_spaces, 80, details=True)
    )
