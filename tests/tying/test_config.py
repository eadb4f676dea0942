"""What a config may say of a tying, what it means, and what is refused before anything trains."""

from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.support.finished_runs import parameters, run_result, summarize
from tests.support.small_runs import small_experiment
from tests.support.strategies import STRATEGIES
from tests.support.tying_runs import D, V, shape
from tiedlm.config.base import ConfigError, parse
from tiedlm.experiment.count_params import both_ways, count_configs
from tiedlm.model.config import ShapeConfig
from tiedlm.report.commands.count_params import render_counts
from tiedlm.report.figures.main_table import main_table
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import raw_config
from tiedlm.run.result import RunResult
from tiedlm.tying.build import build_tying
from tiedlm.tying.config import PartialDimensionsConfig, PartialVocabularyConfig, ProgressiveConfig


@pytest.mark.parametrize(
    ("tying", "key", "expectation"),
    [
        ({"type": "soft", "strength": 0}, "tying.strength", "0: must be above 0"),
        ({"type": "soft", "strength": -1.0}, "tying.strength", "-1.0: must be above 0"),
        ({"type": "soft", "norm": "l1"}, "tying.norm", "must be 'fro' or 'mean_square'"),
        ({"type": "soft", "shared": 3}, "tying.shared", "unknown key of this type"),
        ({"type": "partial_vocabulary"}, "tying.shared", "is required"),
        ({"type": "partial_vocabulary", "shared": -1}, "tying.shared", "-1: must be a count"),
        ({"type": "partial_vocabulary", "shared": True}, "tying.shared", "true: must be a count"),
        ({"type": "partial_vocabulary", "shared": "half"}, "tying.shared", '"half": must be a count'),
        ({"type": "partial_vocabulary", "shared": 1.5}, "tying.shared", "1.5: must be a count"),
        ({"type": "partial_vocabulary", "shared": 3, "share": "any"}, "tying.share", "must be 'frequent' or 'rare'"),
        ({"type": "partial_vocabulary", "shared": 300}, "", "tying.shared 300 is more than the 97 rows"),
        ({"type": "partial_dimensions", "shared": 17}, "", "tying.shared 17 is more than the 16 columns"),
        ({"type": "projected", "activation": "swish"}, "tying.activation", "must be 'gelu', 'relu' or 'tanh'"),
        ({"type": "projected", "strength": 0.0}, "tying.strength", "must be above 0"),
        ({"type": "factorized"}, "tying.width", "is required"),
        ({"type": "factorized", "width": 0}, "tying.width", "0: must be above 0"),
        ({"type": "factorized", "width": 10**12}, "tying.width", "must be at most 16777216"),
        ({"type": "progressive", "switch_at": 1.5}, "tying.switch_at", "1.5: must be at most 1"),
        ({"type": "progressive", "switch_at": "late"}, "tying.switch_at", '"late": must be a number'),
        ({"type": "progressive", "direction": "apart"}, "tying.direction", "must be 'tie' or 'untie'"),
        ({"type": "progressive", "penalty_from": 0.5}, "tying", "penalty_from 0.5 is above switch_at 0.3"),
        ({"type": "progressive", "direction": "untie", "strength": 1.0}, "tying", "strength means nothing to"),
        ({"type": "progressive", "direction": "untie", "output_init": "copy"}, "tying", "output_init means nothing to"),
        ({"type": "three_way"}, "tying.type", "must be tied, untied, soft, partial_vocabulary"),
    ],
    ids=str,
)
def test_a_wrong_value_is_named_with_its_key_and_what_is_expected(
    tying: dict[str, Any], key: str, expectation: str
) -> None:
    model = {"num_layers": 1, "dim": D, "num_heads": 2, "vocab_size": V, "tying": tying}
    with pytest.raises(ConfigError) as refused:
        parse(ShapeConfig, {"model": model})
    (problem,) = refused.value.problems
    assert problem.key == ("model." + key).rstrip(".")
    assert expectation in problem.message


def test_a_vocabulary_that_the_data_brings_is_checked_before_training() -> None:
    config = shape({"type": "partial_vocabulary", "shared": V + 1}).tying
    with pytest.raises(ConfigError, match=r"model: tying\.shared 98 is more than the 97 rows"):
        build_tying(config, V, D)


@pytest.mark.parametrize(
    ("written", "num_shared"), [(1, 1), (1.0, 1000), (0, 0), (0.0, 0), (0.25, 250), (2e2, 200), (1000, 1000)]
)
def test_a_share_is_a_count_where_whole_and_a_fraction_elsewhere(written: float, num_shared: int) -> None:
    assert PartialVocabularyConfig(shared=written).num_shared(1000) == num_shared
    assert PartialDimensionsConfig(shared=written).num_shared(1000) == num_shared


def test_a_progressive_tie_begins_its_penalty_a_third_before_the_switch_and_an_untie_has_none() -> None:
    recipe = parse(ProgressiveConfig, {})
    assert (recipe.penalty_from, recipe.switch_at, recipe.norm) == (0.1, 0.3, "fro")
    assert ProgressiveConfig(switch_at=0.06).penalty_from == 0.02
    assert ProgressiveConfig(switch_at=0.6, penalty_from=0.0).penalty_from == 0.0
    untie = parse(ProgressiveConfig, {"direction": "untie"})
    assert (untie.penalty_from, untie.strength, untie.norm) == (None, None, None)


@pytest.mark.parametrize("tying", STRATEGIES, ids=lambda raw: "-".join(map(str, raw.values())))
def test_a_config_written_in_full_is_the_config(tying: dict[str, Any], tmp_path: Path) -> None:
    run = small_experiment(tmp_path).variants["tied"]
    mine = run.model_copy(update={"model": shape(tying)})
    assert parse(RunConfig, raw_config(mine)) == mine


def test_a_model_that_is_neither_is_counted_tied_untied_and_as_it_is() -> None:
    model = shape({"type": "soft", "init_std": 0.5, "output_bias": True})
    ways = list(both_ways(model))
    assert [one.tying.type for one in ways] == ["tied", "soft", "untied"]
    assert ways[1] == model
    assert all((one.tying.init_std, one.tying.output_bias) == (0.5, True) for one in ways)
    assert [one.tying.type for one in both_ways(shape({"type": "tied"}))] == ["tied", "untied"]


def test_counts_tell_what_a_trained_model_needs_where_that_is_less(tmp_path: Path) -> None:
    config = tmp_path / "p.yaml"
    config.write_text(
        f"model: {{num_layers: 1, dim: {D}, num_heads: 2, vocab_size: {V}, tying: {{type: progressive}}}}"
    )
    models = [one.document() for one in count_configs([str(config)], [], tmp_path)]
    assert [model["total"] - model["inference_total"] for model in models] == [0, V * D, 0]
    assert models[0]["total"] == models[1]["inference_total"]
    with (tmp_path / "out").open("w+") as file:
        render_counts(models, Console(file=file, width=80))
        render_counts([models[0], models[2]], Console(file=file, width=80))
        file.seek(0)
        assert file.read().count("total at inference") == 1


def test_a_comparison_shows_what_a_trained_model_needs_where_that_is_less() -> None:
    base = parameters("untied")
    smaller = base.model_copy(update={"inference_total": base.total - 38_597_376})
    results = [
        run_result("untied", parameters=base),
        run_result("progressive", tying="progressive", parameters=smaller),
    ]

    def rows(some: list[RunResult]) -> dict[str, tuple[str, ...]]:
        order = [result.variant for result in some]
        comparison = summarize(some, failures=[], name="example", baseline="untied", order=order)
        return {row.label: row.cells for row in main_table(comparison).rows}

    assert set(rows(results)["at inference"]) == {"163,037,184", "124,439,808"}
    assert "at inference" not in rows(results[:1])


def test_the_page_of_tying_has_a_row_for_every_strategy_and_the_counts_of_the_dial(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent.parent / "docs" / "tying.md").read_text(encoding="utf-8")
    table = [line for line in text.splitlines() if line.startswith("| `")]
    for tying in STRATEGIES:
        assert any(line.startswith(f"| `{tying['type']}` |") for line in table)
    for one in count_configs(["dial"], [], tmp_path):
        parts, counts = one.counts.parts, one.counts
        cells = [*(parts[f"{part}_embedding"] for part in ("input", "output", "shared")), counts.total]
        cells += [counts.inference_total or 0, counts.flops_per_token]
        assert f"| `{one.name}` | " + " | ".join(f"{cell:,}" for cell in cells) + " |" in table
