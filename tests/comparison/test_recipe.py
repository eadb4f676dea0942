"""The recipe in a phrase: a condition of every verdict."""

from typing import Any

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, compared, run_result, runs
from tiedlm.comparison.recipe import recipe_in_words
from tiedlm.comparison.verdict import conditions_in_words
from tiedlm.run.result import RunResult

TRAINING = {"optimizer": "adamw", "learning_rate": 2e-3, "batch_size": 8, "steps": 450}


def resolved(tying: dict[str, Any], **training: Any) -> dict[str, Any]:
    """A config as a run stores it, complete enough to be parsed."""
    model = {"type": "transformer", "num_layers": 2, "dim": 128, "num_heads": 4, "tying": tying}
    return {
        "name": "example",
        "variant": "any",
        "data": {
            "corpus": {"type": "python-docs"},
            "tokenizer": {"type": "bpe", "vocab_size": 4096},
            "seq_len": training.pop("seq_len", 128),
        },
        "model": model | training.pop("model", {}),
        "training": TRAINING | training,
    }


def pair(tied: dict[str, Any] | None = None, **training: Any) -> list[RunResult]:
    """A tied and an untied run; `tied` are keys of the first one's tying."""
    changes: dict[str, Any] = {"tokens_seen": 460_800, "train_tokens": 502_000}
    config = resolved({"type": "tied", **(tied or {})}, **training)
    return [
        run_result("tied", config=config, **changes),
        run_result("untied", config=resolved({"type": "untied"}, **training), **changes),
    ]


def phrase(*arguments: Any, **training: Any) -> str:
    return recipe_in_words(pair(*arguments, **training)).rpartition(", recipe ")[0]


def test_a_recipe_names_rate_step_epochs_and_tokens_per_parameter() -> None:
    assert phrase() == "adamw at 0.002, 8 x 128 tokens a step, 0.92 epochs, 0.0037 and 0.0028 tokens per parameter"
    assert phrase(learning_rate=6e-4, min_learning_rate=6e-5).startswith("adamw at 0.0006 to 6e-05, 8 x 128")
    assert "epoch" not in recipe_in_words([run.model_copy(update={"train_tokens": None}) for run in pair()])


def test_what_is_done_to_the_embeddings_is_named_where_it_is_not_the_default_or_where_variants_differ() -> None:
    assert ", rate of the embeddings x 0.1, " in phrase(embedding_learning_rate_factor=0.1)
    assert ", input scale 11.3 (tied) and 1 (untied), " in phrase({"input_scale": 11.3})
    assert "output_bias" not in phrase()
    assert ", output_bias true, " in phrase({"output_bias": True})
    tied, _ = pair(learning_rate=1e-3)
    _, untied = pair()
    assert recipe_in_words([tied, untied]).startswith("adamw at 0.001 (tied) and adamw at 0.002 (untied), ")


def test_two_recipes_never_have_one_phrase() -> None:
    """Whatever key says what a run computes, also one that the phrase does not spell out."""
    changed: list[dict[str, Any]] = [
        {},
        {"weight_decay": 0.0},
        {"warmup": 0.1},
        {"schedule": "constant"},
        {"max_grad_norm": None},
        {"learning_rate": 0.00200000001},
        {"seq_len": 64},
        {"model": {"num_layers": 4}},
        {"model": {"dropout": 0.1}},
    ]
    phrases = [recipe_in_words(pair(**change)) for change in changed]
    phrases += [recipe_in_words(pair({key: value})) for key, value in (("init_std", 0.1), ("embedding_noise", 1e-9))]
    assert len({*phrases}) == len(phrases)


def test_one_recipe_has_one_phrase_whatever_the_machine_the_seeds_and_the_variants() -> None:
    once = recipe_in_words(pair())
    assert recipe_in_words([*pair(), *pair()]) == once
    assert recipe_in_words(pair(device="cuda", evaluate_every=7, precision="bf16", weight_decay=0.1)) == once
    soft = run_result("soft", config=resolved({"type": "soft"}), tokens_seen=460_800, train_tokens=502_000)
    assert recipe_in_words([*pair(), soft])[-6:] == once[-6:], "the name of the recipe"


def test_a_recipe_stands_behind_the_other_conditions_of_a_verdict() -> None:
    comparison = compared(*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS))
    assert comparison.conditions is not None
    words = conditions_in_words(comparison.conditions)
    assert ", fp32, 5 seeds; adamw at 0.0006, 0.8 and 0.61 tokens per parameter, recipe " in words
    assert comparison.verdict.startswith(f"{words}: ")
    older = comparison.conditions.model_copy(update={"recipe": ""})
    assert conditions_in_words(older).endswith(", 5 seeds"), "stored by an earlier version"
