"""Variants with recipes of their own: found however it came about, and nothing else is."""

from typing import Any

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, run_result, runs, summarize
from tests.support.tuned_runs import RATE, rates, search
from tiedlm.comparison.analyses.recipe_differences import RecipeDifference, RecipeDifferences
from tiedlm.comparison.comparison import Comparison
from tiedlm.experiment.tuning import Tuning


def compared(
    tied: dict[str, Any], untied: dict[str, Any], tuning: Tuning | None = None, **others: dict[str, Any]
) -> Comparison:
    """Each with changes of its config by dotted key."""
    results = [
        run.model_copy(update={"config": changed(run.config, changes)})
        for name, nats, changes in (
            ("tied", TIED_NATS, tied),
            ("untied", UNTIED_NATS, untied),
            *((name, UNTIED_NATS, changes) for name, changes in others.items()),
        )
        for run in runs(name, nats)
    ]
    return summarize(results, [], "example", "untied", ["tied", "untied", *others], tuning=tuning)


def changed(config: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    training, tying, rest = {**config["training"]}, {**config["model"]["tying"]}, dict[str, Any]()
    for key, value in changes.items():
        part, _, name = key.rpartition(".")
        (training if part == "training" else tying if part == "model.tying" else rest)[name] = value
    return {**config, **rest, "training": training, "model": {**config["model"], "tying": tying}}


def found_in(comparison: Comparison) -> list[RecipeDifference]:
    found = comparison.analysis(RecipeDifferences)
    assert found is not None
    return found.differences


def test_one_recipe_is_no_difference_and_both_definitions_are_equal() -> None:
    comparison = compared({}, {"training.embedding_betas": None, "model.tying.output_init_std": None})
    found = comparison.analysis(RecipeDifferences)
    assert found is not None and found.differences == []
    assert found.definitions["tied"] == found.definitions["untied"]
    assert found.definitions["tied"]["training.learning_rate"] == 6e-4


def test_a_difference_in_the_config_has_both_values_as_written_and_as_they_take_effect() -> None:
    (scale,) = found_in(compared({"model.tying.input_scale": "sqrt_dim"}, {}))
    assert (scale.variant, scale.baseline, scale.key) == ("tied", "untied", "model.tying.input_scale")
    assert (scale.value, scale.baseline_value) == (768**0.5, 1.0)
    assert (scale.written, scale.origin, scale.baseline_origin) == ("sqrt_dim", "config", "default")


def test_where_each_value_comes_from_is_told_by_the_defaults_of_its_optimizer_too() -> None:
    """A limit that is taken away is the config's; what comes with another optimizer is a default."""
    other = {"training.optimizer": "sgd", "training.momentum": 0.9}
    found = found_in(compared(other, {"training.max_grad_norm": None}))
    origins = {each.key.rpartition(".")[2]: (each.origin, each.baseline_origin) for each in found}
    assert origins["optimizer"] == ("config", "default")
    assert origins["momentum"] == ("default", "default"), "0.9 is that of sgd"
    assert origins["max_grad_norm"] == ("default", "config")


def test_a_choice_of_the_search_comes_from_tuning() -> None:
    tuning = search(rates(1e-3, 2e-3), tied=(4.0, 3.9), untied=(3.9, 4.0))
    (rate,) = found_in(compared({RATE: 2e-3}, {RATE: 1e-3}, tuning))
    assert (rate.key, rate.value, rate.baseline_value) == (RATE, 2e-3, 1e-3)
    assert (rate.origin, rate.baseline_origin) == ("tuning", "tuning")


def test_what_only_one_kind_of_tying_has_differs_by_what_it_does() -> None:
    (start,) = found_in(compared({}, {"model.tying.output_init": "zero"}))
    assert (start.key, start.value, start.baseline_value) == ("model.tying.output_init_std", 0.02, 0.0)
    assert (start.written, start.baseline_written) == (None, "zero")
    assert found_in(compared({}, {"model.tying.output_init": "copy"})) == []


def test_a_key_that_follows_another_is_not_said_twice() -> None:
    (factor,) = found_in(compared({"training.embedding_learning_rate_factor": 8.0}, {}))
    assert factor.key == "training.embedding_learning_rate_factor"
    keys = [each.key for each in found_in(compared({}, {"training.output_learning_rate_factor": 0.5}))]
    assert keys == ["training.output_learning_rate_factor"]


def test_what_the_plan_added_is_left_out_and_every_other_variant_is_held_against_the_baseline() -> None:
    added = {"added": {"role": "noise_floor", "of": "untied"}, "training.weight_decay": 0.5}
    found = found_in(compared({}, {}, None, redrawn=added, slow={"training.warmup": 0.5}))
    assert [(each.variant, each.key) for each in found] == [("slow", "training.warmup")]


def test_without_the_baseline_there_is_nothing_to_differ_from() -> None:
    alone = summarize([run_result("tied")], [], "example", "untied", ["tied"])
    assert found_in(alone) == []
