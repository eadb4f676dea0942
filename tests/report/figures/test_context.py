"""What the figures rest on."""

from tests.support.finished_runs import (
    TIED_NATS,
    UNTIED_NATS,
    compared,
    example_comparison,
    run_result,
    runs,
    summarize,
)
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.context import context, warnings
from tiedlm.run.result import RunFailure


def said(comparison: Comparison) -> str:
    return "\n".join(context(comparison))


def test_other_settings_than_tying_are_pointed_at() -> None:
    config = run_result("tied").config
    faster = config | {"training": config["training"] | {"learning_rate": 1e-3}}
    text = said(compared(*runs("tied", TIED_NATS, config=faster), *runs("untied", UNTIED_NATS)))
    assert "tied and untied differ in: model.tying.type and their recipes." in text
    longer = config | {"training": config["training"] | {"batch_size": 7}}
    text = said(compared(*runs("tied", TIED_NATS, config=longer), *runs("untied", UNTIED_NATS)))
    assert "tied and untied differ in: model.tying.type, training.batch_size (7 against null)." in text
    assert "tied and untied differ in: model.tying.type." in said(example_comparison())


def test_a_key_below_tying_is_pointed_at_beside_an_equal_start() -> None:
    """One arm reads vectors 11 times as large: that the start was equal must not stand alone."""
    config = run_result("tied").config
    scaled = config | {"model": config["model"] | {"tying": {"type": "tied", "input_scale": 11.3}}}
    text = said(compared(*runs("tied", TIED_NATS, config=scaled), *runs("untied", UNTIED_NATS)))
    assert "start and batches were equal" in text
    assert "differ in: model.tying.type and their recipes." in text
    same_tying = config | {"training": config["training"] | {"learning_rate": 1e-3}}
    pair = compared(
        *runs("untied-fast", TIED_NATS, config=same_tying, tying="tied"), *runs("tied", TIED_NATS), baseline="tied"
    )
    assert "untied-fast and tied differ in: their recipes." in said(pair)


def test_failed_and_unfinished_runs_are_named() -> None:
    failure = RunFailure(variant="untied", seed=1, kind="out_of_memory", message="no [bold]room[/bold]", step=1_234)
    planned: dict[str, tuple[int, ...]] = {"tied": (0, 1, 2), "untied": (0, 1, 2)}
    results = [run_result("tied"), run_result("untied")]
    text = said(summarize(results, [failure], "example", "untied", ["tied", "untied"], planned))
    assert "Failed: untied, seed 1 (out_of_memory at step 1,234): no [bold]room[/bold]" in text
    assert "Not finished yet: 3 planned runs." in text


def test_a_text_a_pairing_and_a_saving_are_a_sentence_each() -> None:
    text = said(example_comparison())
    for words in (
        "Text: WikiText-103 (wikitext-103-v1); byte-level BPE, 32,000 types; test split of 287,645 tokens",
        "Token frequencies alone (unigram) reach a test perplexity of 1,000.00.",
        "Tying saves 38,597,376 parameters: tied has 23.7 % fewer than untied.",
        "tied and untied: start and batches were equal (",
    ):
        assert words in text


def test_variants_no_better_than_token_frequencies_are_warned_of() -> None:
    assert list(warnings(example_comparison())) == []
    (warning,) = warnings(compared(*runs("tied", [6.91, 6.92]), *runs("untied", [6.92, 6.93])))
    assert warning.startswith("No variant does better than token frequencies alone"), "ln 1,000 is 6.908"
