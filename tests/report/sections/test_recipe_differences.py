"""Recipes of their own: one sentence with every key, its two values and how they came about."""

from typing import Any

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, compared, example_comparison, runs
from tiedlm.comparison.comparison import Comparison
from tiedlm.report.figures.screen import screen_sentences
from tiedlm.report.sections.recipe_differences import SECTION


def with_recipes(*names: str, **training: Any) -> Comparison:
    """Variants whose training has other values, beside untied."""
    results = list(runs("untied", UNTIED_NATS))
    for name in names:
        for run in runs(name, TIED_NATS):
            config = {**run.config, "training": {**run.config["training"], **training}}
            config["model"] = {**config["model"], "tying": {**config["model"]["tying"], "input_scale": "sqrt_dim"}}
            results.append(run.model_copy(update={"config": config}))
    return compared(*results)


def test_one_sentence_has_each_key_with_both_values_as_written() -> None:
    (said,) = SECTION.at_a_glance(with_recipes("tied", learning_rate=4e-3, max_grad_norm=None))
    assert said == (
        "tied and untied have recipes of their own: learning_rate 0.004 / 0.0006, input_scale sqrt_dim / 1, "
        "max_grad_norm none / 1 (by config)."
    )


def test_the_line_on_other_keys_does_not_say_them_again() -> None:
    comparison = with_recipes("tied", learning_rate=4e-3, z_loss=0.1)
    lines = " ".join(screen_sentences(comparison))
    assert "they differ in: model.tying.type, training.z_loss (0.1 against null) and their recipes." in lines
    assert "learning_rate" not in lines


def test_a_line_each_for_some_variants_and_a_number_for_the_others() -> None:
    names = [f"tied-{number}" for number in range(5)]
    *some, rest = SECTION.at_a_glance(with_recipes(*names, learning_rate=4e-3))
    assert [line.split()[0] for line in some] == names[:3]
    assert rest == "2 more variants have a recipe that is not that of untied (--details)."
    (table,) = SECTION.tables(with_recipes(*names, learning_rate=4e-3))
    assert table.names == tuple(names)
    assert {row.label: row.cells[4] for row in table.rows} == {
        "training.learning_rate": "0.004 / 0.0006, by config",
        "model.tying.input_scale": "sqrt_dim / 1, by config",
    }


def test_of_one_recipe_nothing_is_said() -> None:
    plain = example_comparison()
    assert not [*SECTION.at_a_glance(plain), *SECTION.remarks(plain), *SECTION.tables(plain)]
