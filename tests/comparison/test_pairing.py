"""What two runs have in common, and what a difference between them can be put down to."""

from typing import Any

import pytest

from tests.support.finished_runs import effective, hashes, parameters, run_result, split_result
from tiedlm.comparison.pairing import differences_beside_recipe, pair, pair_seeds
from tiedlm.run.result import Corpus


def test_the_same_start_and_batches_on_the_same_machine_are_the_strongest_pair() -> None:
    pairing = pair(run_result("tied"), run_result("untied"))
    assert pairing.level == "start+batches"
    assert "every batch" in pairing.reasons[0]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hashes": hashes(body="other")}, "the body started from other values"),
        ({"hashes": hashes(input_embedding="other")}, "the input embedding started from other values"),
        ({"hashes": hashes(input_embedding=None)}, "the start of the input embedding cannot be compared"),
    ],
)
def test_another_start_leaves_the_batches_in_common(changes: dict[str, Any], words: str) -> None:
    pairing = pair(run_result("tied", **changes), run_result("untied"))
    assert (pairing.level, pairing.reasons) == ("batches", [words])


def test_a_body_of_another_size_is_named_as_such() -> None:
    counts = parameters("tied")
    wider = counts.model_copy(update={"parts": counts.parts | {"body": 100_000_000}})
    pairing = pair(run_result("wide", parameters=wider, hashes=hashes(body="other")), run_result("untied"))
    assert (pairing.level, pairing.reasons) == ("batches", ["the body has another size"])


def test_equal_values_in_another_function_are_another_start() -> None:
    """Two heads or eight, the matrices have one size and start from one set of values."""
    eight, two = run_result("tied"), run_result("untied")
    config = {**eight.config, "model": {**eight.config["model"], "num_heads": 8}}
    pairing = pair(eight.model_copy(update={"config": config}), two)
    assert pairing.level == "batches"
    assert pairing.reasons == ["model.num_heads differs: equal values, but another function of them"]


_OTHER_CORPUS = Corpus(caption="my text", details={}, vocab_size=32_000, tokenizer="byte-level BPE, 32,000 types")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"hashes": hashes(batches="other")}, "the batches differ"),
        ({"hashes": hashes(tokens="abcdefghij")}, "the tokens differ"),
        ({"hashes": hashes(corpus="other", tokens="other"), "corpus": _OTHER_CORPUS}, "my text against WikiText-103"),
        ({"tokens_seen": 5, "hashes": hashes(batches="other")}, "the length of training differs: 5 tokens against"),
        ({"effective": effective(precision="bf16")}, "precision differs: bf16 against fp32"),
        ({"effective": effective(device="cuda:0", device_name="H200")}, "device differs: cuda (H200) against cpu"),
        ({"effective": effective(compile=True)}, "compile differs: on against off"),
        ({"effective": effective(micro_batch_size=8)}, "micro-batch size differs: 8 against 16"),
        ({"effective": effective(head="full")}, "head differs: full against lean"),
        ({"effective": effective(arithmetic=None)}, "tiedlm's arithmetic differs: unknown against 4"),
        ({"versions": {"torch": "2.11.0", "python": "3.11.7"}}, "torch version differs: 2.11.0 against 2.13.0"),
        ({"splits": {"test": split_result(4.0, stride=64)}}, "test was scored in other windows: 512 tokens every 64"),
    ],
)
def test_another_machine_recipe_or_text_leaves_no_pair(changes: dict[str, Any], words: str) -> None:
    pairing = pair(run_result("tied", **changes), run_result("untied"))
    assert pairing.level == "none"
    assert len(pairing.reasons) == 1
    assert words in pairing.reasons[0]


def test_two_cards_of_one_kind_are_one_device() -> None:
    cards = [effective(device=f"cuda:{index}", device_name="H200") for index in range(2)]
    one, other = (run_result(name, effective=card) for name, card in zip(("tied", "untied"), cards, strict=True))
    assert pair(one, other).level == "start+batches"


@pytest.mark.parametrize(("corpus", "level"), [("python-docs", "none"), ("wikitext", "start+batches")])
def test_the_python_version_matters_where_its_documentation_is_the_text(corpus: str, level: str) -> None:
    config = run_result().config | {"data": {"corpus": {"type": corpus}}}
    newer = run_result("tied", config=config, versions={"torch": "2.13.0", "python": "3.12.1"})
    assert pair(newer, run_result("untied", config=config)).level == level


def test_the_weakest_seed_counts_and_is_named() -> None:
    strong = [(run_result("tied", seed), run_result("untied", seed)) for seed in (0, 1)]
    weaker = (run_result("tied", 2, hashes=hashes(2, body="other")), run_result("untied", 2))
    weakest = (run_result("tied", 3, effective=effective(precision="bf16")), run_result("untied", 3))
    assert pair_seeds(strong).level == "start+batches"
    batches = pair_seeds([*strong, weaker])
    assert (batches.level, batches.reasons) == ("batches", ["seed 2: the body started from other values"])
    none = pair_seeds([*strong, weaker, weakest])
    assert (none.level, none.reasons) == ("none", ["seed 3: precision differs: bf16 against fp32"])


def test_a_reason_that_holds_for_every_seed_names_none() -> None:
    pairs = [
        (run_result("tied", seed, hashes=hashes(seed, body="other")), run_result("untied", seed)) for seed in (0, 1)
    ]
    assert pair_seeds(pairs).reasons == ["the body started from other values"]


def test_without_a_seed_in_common_there_is_no_pair() -> None:
    pairing = pair_seeds([])
    assert (pairing.level, pairing.reasons) == ("none", ["no seed has finished in both"])


def test_noise_from_the_body_s_stream_makes_no_pair_with_noise_from_its_own_but_none_at_all_does() -> None:
    """An older version drew it from that of the body's dropout, whose masks then differed."""
    plain = run_result("tied")
    model = plain.config["model"]
    noisy = plain.config | {"model": model | {"tying": {"type": "tied", "embedding_noise": 0.1}}}
    own, old = effective(embedding_stream="its own"), effective()
    mixed = pair(run_result("tied", config=noisy, effective=old), run_result("untied", config=noisy, effective=own))
    assert mixed.level == "none"
    assert mixed.reasons == [
        "the random stream of embedding noise and dropout differs: the body's against its own",
    ]
    for config, run in ((noisy, own), (plain.config, old)):
        found = pair(run_result("tied", config=config, effective=run), run_result("untied"))
        assert found.level == "start+batches"


def test_what_a_recipe_may_ask_for_is_not_among_the_differences_beside_it() -> None:
    """Precision, micro-batch and batches are a recipe's; device, versions, windows and text are not."""
    base = run_result("untied")
    asked = run_result(effective=effective(precision="bf16", micro_batch_size=4), hashes=hashes(batches="0"))
    assert pair(asked, base).level == "none"
    assert differences_beside_recipe(asked, base) == []
    other = run_result(
        effective=effective(device="cuda:0", device_name="H100"),
        hashes=hashes(tokens="0"),
        splits={"test": split_result(4.0, stride=1)},
    )
    assert differences_beside_recipe(other, base) == [
        "device differs: cuda (H100) against cpu (Any CPU)",
        "test was scored in other windows: 512 tokens every 1 against 512 every 512",
        "the text differs",
    ]
