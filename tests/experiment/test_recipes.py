"""From recipes in a file to one experiment for each."""

from pathlib import Path

import pytest

from tests.support.experiment_parts import RECIPES, parts_of
from tests.support.small_runs import small_config
from tiedlm.comparison.comparison import COMPARISON_FILE
from tiedlm.config.base import ConfigError, Raw, semantic
from tiedlm.config.file import read_config
from tiedlm.experiment.parts import Parts, load_plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.layout import FILES


def test_a_recipe_is_laid_over_every_variant_key_by_key(tmp_path: Path) -> None:
    default, high, scaled = (part.experiment for part in parts_of(tmp_path).parts)
    assert [config.training.learning_rate for config in default.variants.values()] == [1e-3, 1e-3]
    assert [config.training.learning_rate for config in high.variants.values()] == [4e-3, 4e-3]
    assert [config.model.tying.type for config in scaled.variants.values()] == ["tied", "untied"]
    assert [config.model.tying.input_scale for config in scaled.variants.values()] == ["sqrt_dim", "sqrt_dim"]


def test_a_recipe_may_speak_to_one_variant(tmp_path: Path) -> None:
    scaled = parts_of(tmp_path).pick("scaled")
    rates = {name: config.training.learning_rate for name, config in scaled.variants.items()}
    assert rates == {"tied": 5e-4, "untied": 1e-3}


def test_a_recipe_that_changes_nothing_computes_what_the_experiment_does_without_recipes(tmp_path: Path) -> None:
    default = parts_of(tmp_path).pick("default")
    plain = load_experiment(tmp_path / "small.yaml")
    assert plain.part is None
    for name, config in default.variants.items():
        assert semantic(config) == semantic(plain.variants[name])
        assert config.part == "default"


def test_a_recipe_that_the_variants_differ_from_wins(tmp_path: Path) -> None:
    """Arms may have settings of their own, and a recipe may ask for one in both."""
    keys = RECIPES + "  plain: {training: {max_grad_norm: 0.5}}\n"
    part = parts_of(tmp_path, keys, "variants.tied.training.max_grad_norm=0.1").pick("plain")
    assert [config.training.max_grad_norm for config in part.variants.values()] == [0.5, 0.5]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("recipes.high.training.learning_rte=3", "recipes.high.training.learning_rte: unknown key"),
        ("recipes.high.training.learning_rate=-3", "recipes.high.training.learning_rate: -3: must be above 0"),
        ("recipes.scaled.variants.tied.training.learning_rate=x", "recipes.scaled.variants.tied.training.learning_rat"),
        ("recipes.high.model.tying.type=tied", "recipes.high.model.tying.type: is what tells the variants apart"),
        ("recipes.high.data.seq_len=8", "recipes.high.data: is one for all recipes"),
        ("recipes.high.evaluation.stride=8", "recipes.high.evaluation: is one for all recipes"),
        ("recipes.high.seeds=[1]", "recipes.high.seeds: is no part of a recipe"),
        ("recipes.high.variants.other={}", "recipes.high.variants.other: no variant has this name"),
        ("recipes.high.variants.tied=3", "recipes.high.variants.tied: may change model and training"),
        ("recipes.high.variants=3", "recipes.high.variants: 3: must map variants"),
        ("recipes.again={}", "recipes.again: is default under another name: it would count twice"),
        ("recipes.HIGH={model: {dropout: 0.1}}", "recipes.HIGH: differs from high only in upper and lower case"),
        ("recipes.tuning={model: {dropout: 0.1}}", "recipes.tuning: is the name of the folder of tuning runs"),
        ("recipes.high=3", "recipes.high: 3: must be a mapping"),
        ("recipes.high.model.max_seq_len=8", "recipes.high: seq_len 16 is above model.max_seq_len 8"),
        ("training.learning_rate=1", "--set recipes.high.training.learning_rate=..."),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said_under_its_key(tmp_path: Path, setting: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("[", r"\[")):
        parts_of(tmp_path, RECIPES, setting)


def test_a_variant_that_a_recipe_names_may_have_dots_in_its_name(tmp_path: Path) -> None:
    """And what it sets reaches that variant alone, not one whose name ends before the dot."""
    raw = load_raw(tmp_path)
    recipe = {"variants": {"v1.5": {"training": {"learning_rate": 5e-4}}}}
    part = recipes(raw, recipe).pick("other")
    assert {name: config.training.learning_rate for name, config in part.variants.items()} == {"v1": 1e-3, "v1.5": 5e-4}
    recipe["variants"]["v1.5"]["training"]["learning_rate"] = -1.0
    with pytest.raises(ConfigError, match=r"recipes\.other\.variants\.v1\.5\.training\.learning_rate: -1"):
        recipes(raw, recipe)


def load_raw(folder: Path) -> Raw:
    """Variants v1, tied, and v1.5, untied."""
    raw = read_config(small_config(folder))
    return raw | {"variants": {"v1": raw["variants"]["tied"], "v1.5": raw["variants"]["untied"]}}


def recipes(raw: Raw, other: Raw) -> Parts:
    """A config under a recipe that changes nothing, and under another one."""
    parts = load_plan({**raw, "recipes": {"plain": {}, "other": other}})
    assert isinstance(parts, Parts)
    return parts


@pytest.mark.parametrize("name", [*FILES, COMPARISON_FILE, "Counts.JSON"])
def test_no_recipe_and_no_variant_has_the_name_of_a_file_of_the_experiment(tmp_path: Path, name: str) -> None:
    raw = load_raw(tmp_path)
    with pytest.raises(ConfigError, match=f"recipes.{name}: is the name of a file of the experiment"):
        load_plan({**raw, "recipes": {"plain": {}, name: {"model": {"dropout": 0.1}}}})
    raw["variants"][name] = raw["variants"]["v1"]
    with pytest.raises(ConfigError, match=f"variants.{name}: is the name of a file of the experiment"):
        load_plan(raw)


def test_a_recipe_that_makes_two_variants_one_is_refused(tmp_path: Path) -> None:
    slow = "  slow: {model: {tying: {type: tied}}, training: {learning_rate: 1e-4}}\n"
    keys = slow + RECIPES
    with pytest.raises(ConfigError, match=r"recipes\.high: makes slow and tied one and the same"):
        parts_of(tmp_path, keys)


def test_no_recipe_at_all_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="recipes: must name at least one recipe"):
        parts_of(tmp_path, "recipes: {}\n")


def test_recipes_need_variants(tmp_path: Path) -> None:
    parts_of(tmp_path)
    run = load_experiment(tmp_path / "small.yaml").run_config("tied", 0)
    raw = {key: value for key, value in run.model_dump(mode="json").items() if key not in ("added", "part")}
    with pytest.raises(ConfigError, match="recipes: need variants to compare"):
        load_plan({**raw, "recipes": {"one": {}}})
