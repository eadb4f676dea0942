"""Variants of the baseline's size: what their bodies come to, what cannot be reached, what is kept of the counts."""

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from tests.support.in_process import in_this_process
from tests.support.small_runs import Heard, carry_out, environment, shared_cache, small_config
from tiedlm.comparison.analyses.budget import Budget
from tiedlm.comparison.compare import compare
from tiedlm.comparison.gather import gather
from tiedlm.config.base import ConfigError
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.count_params import count_configs
from tiedlm.experiment.counts_cache import CountsCache
from tiedlm.experiment.dry_run import forecast, totals
from tiedlm.experiment.expand import expand
from tiedlm.experiment.match import inner_width, sizes_in_words, with_matches
from tiedlm.experiment.plan import plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.experiment.sizes import TOLERANCE
from tiedlm.forecast.counts import count_model
from tiedlm.forecast.vocabulary import forecast_vocab_size
from tiedlm.model.counts import ParameterCounts
from tiedlm.report.commands.dry_run import render_dry_run
from tiedlm.run.config import RunConfig
from tiedlm.run.layout import Layout
from tiedlm.talk import SILENT

V = 8192
ROOMY = ("model.num_layers=3", "model.dim=64", f"model.vocab_size={V}", "match=parameters")
"""Bodies that have room to give a matrix back are those of small vocabularies."""


def experiment_of(folder: Path, *settings: str) -> Experiment:
    return load_experiment(small_config(folder), list(settings))


def count_of(config: RunConfig) -> ParameterCounts:
    return count_model(config.model, config.model.vocab_size or 257, config.max_seq_len, config.data.seq_len)


def sizes(config: RunConfig) -> tuple[int, int]:
    return config.model.num_layers, inner_width(config.model)


def is_round_where_that_is_close(config: RunConfig, target: int) -> bool:
    """A multiple of 8 as the width, unless the nearest one misses by more than 0.1 %."""
    width = inner_width(config.model)
    rounded = {"model": config.model.model_copy(update={"feed_forward_dim": 8 * round(width / 8)})}
    return width % 8 == 0 or abs(count_of(config.model_copy(update=rounded)).total - target) > 0.001 * target


def test_nothing_is_added_unless_it_is_asked_for(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path)
    assert with_matches(experiment, count_of) is experiment


def test_the_body_takes_up_the_second_matrix_by_width_and_by_layers(tmp_path: Path) -> None:
    experiment = with_matches(experiment_of(tmp_path, *ROOMY), count_of)
    assert list(experiment.variants) == ["tied", "untied", "tied+width", "tied+depth"]
    tied, untied, wide, deep = experiment.variants.values()
    target = count_of(untied).total
    assert target - count_of(tied).total == V * 64
    for config in (wide, deep):
        assert abs(count_of(config).total - target) <= 0.001 * target
        assert is_round_where_that_is_close(config, target)
        assert config.model.tying == tied.model.tying
        assert config.added is not None and config.added.of == "tied"
        keep = {"num_layers": 3, "feed_forward_dim": inner_width(tied.model)}
        back = {"variant": "tied", "added": None, "model": config.model.model_copy(update=keep)}
        assert config.model_copy(update=back) == tied, "nothing else differs"
    assert wide.model.num_layers == tied.model.num_layers
    assert inner_width(wide.model) - inner_width(tied.model) == pytest.approx(V * 64 / (3 * 129), abs=8)
    assert deep.model.num_layers > tied.model.num_layers
    assert [config.added.role for config in (wide, deep) if config.added] == ["matched_width", "matched_depth"]


def test_a_body_gives_back_what_another_tying_costs(tmp_path: Path) -> None:
    experiment = with_matches(experiment_of(tmp_path, *ROOMY, "model.vocab_size=512", "baseline=tied"), count_of)
    assert list(experiment.variants) == ["tied", "untied", "untied+width", "untied+depth"]
    tied, untied, narrow, shallow = experiment.variants.values()
    assert inner_width(narrow.model) < inner_width(untied.model)
    assert shallow.model.num_layers < untied.model.num_layers
    for config in (narrow, shallow):
        assert abs(count_of(config).total - count_of(tied).total) <= TOLERANCE * count_of(tied).total


def test_of_the_layers_on_either_side_those_are_taken_that_leave_the_width_most_as_it_is(tmp_path: Path) -> None:
    """A difference of less than half a layer needs a whole one all the same."""
    for vocab_size in (100, 512, 2048, V):
        experiment = with_matches(experiment_of(tmp_path, *ROOMY, f"model.vocab_size={vocab_size}"), count_of)
        tied, deep = experiment.variants["tied"], experiment.variants["tied+depth"]
        layer = (64 * 64 * 4 + 4 * 64) + (2 * 64 * 256 + 256 + 64) + 4 * 64  # attention, feed-forward, two norms
        exact = vocab_size * 64 / layer
        assert deep.model.num_layers - 3 in {max(1, int(exact)), int(exact) + 1}
        for num_layers in {3 + max(1, int(exact)), 4 + int(exact)} - {deep.model.num_layers}:
            other = (count_of(deep).total - count_of(tied).total - (num_layers - 3) * layer) / (num_layers * 129) + 256
            mine = inner_width(deep.model)
            assert max(mine / 256, 256 / mine) <= max(other / 256, 256 / other) + 0.05


def test_a_variant_of_the_same_size_within_one_per_cent_gets_no_others(tmp_path: Path) -> None:
    same = "  copied: {model: {tying: {type: untied, output_init: copy}}}\n"
    nearly = "  biased: {model: {tying: {type: untied, output_bias: true}}}\n"
    small_config(tmp_path, "variants:\n", f"variants:\n{same}{nearly}")
    experiment = with_matches(load_experiment(tmp_path / "small.yaml", list(ROOMY)), count_of)
    untied, biased = (count_of(experiment.variants[name]).total for name in ("untied", "biased"))
    assert 0 < biased - untied <= TOLERANCE * untied
    assert list(experiment.variants) == ["copied", "biased", "tied", "untied", "tied+width", "tied+depth"]


def test_what_no_body_reaches_is_refused_with_both_counts(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path, *ROOMY, "baseline=tied")
    with pytest.raises(ConfigError) as caught:
        with_matches(experiment, count_of)
    tied, untied = (count_of(config).total for config in experiment.variants.values())
    message = str(caught.value)
    assert caught.value.problems[0].key == "match"
    assert f"untied has {untied:,} parameters and tied {tied:,}" in message
    assert f"{untied - 3 * 129 * 255:,}" in message, "the nearest, with one unit of width left in three layers"


def test_a_single_layer_has_none_to_give(tmp_path: Path) -> None:
    settings = (*ROOMY, "baseline=tied", "model.num_layers=1", "model.vocab_size=300", "model.feed_forward_dim=4096")
    with pytest.raises(ConfigError, match="number of layers"):
        with_matches(experiment_of(tmp_path, *settings), count_of)


@pytest.mark.parametrize("taken", ["tied+width", "Tied+Depth"])
def test_a_name_that_the_file_gives_itself_is_refused(tmp_path: Path, taken: str) -> None:
    small_config(tmp_path, "variants:\n", f"variants:\n  {taken}: {{model: {{tying: {{type: untied}}}}}}\n")
    with pytest.raises(ConfigError, match="give yours another"):
        with_matches(load_experiment(tmp_path / "small.yaml", list(ROOMY)), count_of)


def test_twice_is_once(tmp_path: Path) -> None:
    once = with_matches(experiment_of(tmp_path, *ROOMY), count_of)
    assert with_matches(once, count_of) == once


@pytest.mark.parametrize("name", ["quickstart", "wikitext2", "wikitext103", "wikitext103-word"])
def test_the_great_experiments_can_be_matched(name: str, tmp_path: Path) -> None:
    settings = ["match=parameters", *(["model.vocab_size=267735"] if "word" in name else [])]
    experiment = load_experiment(name, settings)
    others = {name: config for name, config in experiment.variants_of_file.items() if name != experiment.baseline}

    def count(config: RunConfig) -> ParameterCounts:
        vocab_size = forecast_vocab_size(config.model, config.data, tmp_path)
        return count_model(config.model, vocab_size, config.max_seq_len, config.data.seq_len)

    matched = with_matches(experiment, count)
    target = count(matched.variants[experiment.baseline]).total
    for variant, config in others.items():
        if abs(count(config).total - target) > TOLERANCE * target:
            for suffix in ("+width", "+depth"):
                assert abs(count(matched.variants[variant + suffix]).total - target) <= 0.001 * target


def test_the_sizes_stand_below_one_another(tmp_path: Path) -> None:
    lines = list(sizes_in_words(with_matches(experiment_of(tmp_path, *ROOMY), count_of), count_of))
    assert len(lines) == 5
    assert len({len(line) for line in lines}) == 1
    assert max(map(len, lines)) <= 80
    tied, untied = (line.split() for line in lines[1:3])
    assert untied[:3] == ["untied", f"{count_of(experiment_of(tmp_path, *ROOMY).variants['untied']).total:,}", "+0.00"]
    assert float(tied[2]) < 0


def test_where_all_are_of_one_size_it_is_said_that_nothing_is_added(tmp_path: Path) -> None:
    same = experiment_of(tmp_path, "match=parameters", "variants.untied.model.tying.type=tied")
    table, said = (lines := list(sizes_in_words(with_matches(same, count_of), count_of)))[:-1], lines[-1]
    assert len(table) == 3
    assert said.startswith("match: parameters adds nothing, every variant is within 1 % of untied's")


def test_the_text_is_got_ready_where_it_counts_and_a_dry_look_leaves_nothing_behind(tmp_path: Path) -> None:
    """V of a vocabulary of words is known once the text was read."""
    small_config(tmp_path, "{type: byte}", "{type: word}")
    experiment = load_experiment(tmp_path / "small.yaml", ["match=parameters", "model.dim=32"])
    runs, cache = tmp_path / "runs", tmp_path / "cache"
    with pytest.raises(ConfigError, match="tiedlm prepare"):
        expand(experiment, runs, cache)
    assert not runs.exists()
    grown = expand(experiment, runs, cache, SILENT)
    assert len(grown.variants) == 4
    kept = json.loads((runs / "small" / "counts.json").read_text())
    assert len(kept["vocab_sizes"]) == 1
    assert expand(experiment, runs, tmp_path / "another-cache") == grown, "V is remembered where the cache is gone"
    text = (tmp_path / "text.txt").read_text(encoding="utf-8")
    (tmp_path / "text.txt").unlink()
    assert expand(experiment, runs, tmp_path / "another-cache") == grown, "and where the text is"
    (tmp_path / "text.txt").write_text(text.replace("Paragraph", "Part and parcel"), encoding="utf-8")
    with pytest.raises(ConfigError, match="tiedlm prepare"):
        expand(experiment, runs, tmp_path / "another-cache")


_LIGHT = """
import sys
from pathlib import Path
from tiedlm.experiment.plan import plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.forecast.vocabulary import forecast_vocab_size
from tiedlm.experiment.expand import expand
folder = Path(sys.argv[1])
experiment = load_experiment(folder / "small.yaml", ["match=parameters"])
print(*expand(experiment, folder / "runs", folder / "cache").variants, "torch" in sys.modules)
"""


def test_what_was_counted_needs_no_torch_again_and_another_model_is_counted_anew(tmp_path: Path) -> None:
    runs, cache = tmp_path / "runs", tmp_path / "cache"
    expand(experiment_of(tmp_path, "match=parameters"), runs, cache, SILENT)
    file = runs / "small" / "counts.json"
    before = file.read_bytes()
    command = [sys.executable, "-c", _LIGHT, str(tmp_path)]
    light = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    assert light.stdout.split() == ["tied", "untied", "tied+width", "tied+depth", "False"]
    other = experiment_of(tmp_path, "match=parameters", "model.dim=32")
    assert expand(other, runs, cache) == with_matches(other, count_of)
    assert file.read_bytes() == before, "nothing is written where nothing is carried out"


def test_a_file_of_counts_that_cannot_be_read_is_made_anew(tmp_path: Path) -> None:
    experiment = experiment_of(tmp_path, "match=parameters")
    file = tmp_path / "runs" / "small" / "counts.json"
    file.parent.mkdir(parents=True)
    file.write_text('{"counts": 3}')
    grown = expand(experiment, tmp_path / "runs", tmp_path / "cache", SILENT)
    assert json.loads(file.read_text())["counts"]
    counts = CountsCache(Layout(file.parent), tmp_path / "cache")
    assert counts(grown.variants["tied+width"]).total == count_of(grown.variants["tied+width"]).total


def test_counts_and_forecasts_have_all_variants_with_what_a_token_costs(tmp_path: Path) -> None:
    small_config(tmp_path)
    counted = count_configs([str(tmp_path / "small.yaml")], ["match=parameters"], tmp_path / "cache")
    assert [model.name for model in counted] == ["tied", "untied", "tied+width", "tied+depth"]
    experiment = expand(experiment_of(tmp_path, "match=parameters"), tmp_path / "runs", tmp_path / "cache")
    forecasts = forecast(plan(experiment, tmp_path / "runs"), tmp_path / "cache")
    for model, run in zip(counted, forecasts, strict=True):
        assert (run["parameters"], run["flops_per_token"]) == (model.counts.total, model.counts.flops_per_token)
    assert [(run["num_layers"], run["inner_width"]) for run in forecasts] == [
        sizes(config) for config in experiment.variants.values()
    ]
    stream = io.StringIO()
    render_dry_run(forecasts, totals(forecasts), Console(file=stream, width=80))
    shown = stream.getvalue()
    assert "Variants of unequal cost" in shown
    for run in forecasts:
        line = f"{run['variant']} {run['parameters']:,} {run['flops_per_token']:,} {run['num_layers']} "
        assert f"{line}{run['inner_width']:,}" in " ".join(shown.split())


def test_a_plan_of_equal_cost_is_not_told_twice(tmp_path: Path) -> None:
    forecasts = forecast(plan(experiment_of(tmp_path), tmp_path / "runs"), tmp_path / "cache")
    stream = io.StringIO()
    render_dry_run(forecasts, totals(forecasts), Console(file=stream, width=80))
    assert "unequal" not in stream.getvalue()


def test_matched_runs_are_told_of_before_they_train_and_are_pairs_by_their_batches(tmp_path: Path) -> None:
    runs, cache = tmp_path / "runs", shared_cache()
    experiment = expand(experiment_of(tmp_path, "match=parameters"), runs, cache, SILENT)
    *before, _ = plan(experiment, runs)
    for run in before:
        carry_out(run)
    heard = Heard()
    with in_this_process():
        comparison = compare(experiment, runs_dir=runs, cache_dir=cache, talk=heard)
    *before_training, _ = heard.lines
    assert before_training == list(sizes_in_words(experiment, count_of)), "the last of four was still to come"
    assert not comparison.pending and not comparison.failures
    budget = comparison.analysis(Budget)
    assert budget is not None
    (found,) = budget.equal_parameters
    for body in found.bodies:
        assert abs(body.percent_off) < 1
        for difference in body.differences:
            assert (difference.pairing.level, difference.num_seeds) == ("batches", 1)
            assert "the body has another size" in difference.pairing.reasons
    (each,) = budget.break_even
    optimizer_bytes = 16 * 257 * 16  # parameters, gradients and two moments of V x D in fp32
    assert each.outright.persistent_bytes == optimizer_bytes
    assert [bought.spent_on for bought in each.in_body] == ["width", "depth"]
    assert gather([runs / "small"]).analysis(Budget) == budget
    again = Heard()
    assert compare(experiment, runs_dir=runs, cache_dir=cache, talk=again) == comparison
    assert again.lines == []


@pytest.mark.parametrize("num_layers", [2, 3])
def test_a_recurrent_body_takes_it_up_too_though_its_size_grows_with_the_square_of_its_width(
    tmp_path: Path, num_layers: int
) -> None:
    small_config(
        tmp_path, "{num_layers: 1, dim: 16, num_heads: 2}", f"{{type: lstm, num_layers: {num_layers}, dim: 64}}"
    )
    experiment = load_experiment(tmp_path / "small.yaml", ["match=parameters", f"model.vocab_size={V}"])
    tied, untied, wide, deep = with_matches(experiment, count_of).variants.values()
    target = count_of(untied).total

    def miss(config: RunConfig, change: int = 0) -> int:
        width = {"hidden_dim": inner_width(config.model) + change}
        return abs(count_of(config.model_copy(update={"model": config.model.model_copy(update=width)})).total - target)

    for config in (wide, deep):
        assert miss(config) <= TOLERANCE * target
        assert inner_width(config.model) % 8 == 0 or miss(config) <= min(miss(config, -1), miss(config, 1))
    assert wide.model.num_layers == num_layers < deep.model.num_layers
    assert inner_width(wide.model) > inner_width(tied.model) == 64


def test_a_recurrent_layer_alone_has_no_inner_width(tmp_path: Path) -> None:
    small_config(tmp_path, "{num_layers: 1, dim: 16, num_heads: 2}", "{type: lstm, num_layers: 1, dim: 64}")
    experiment = load_experiment(tmp_path / "small.yaml", ["match=parameters", f"model.vocab_size={V}"])
    with pytest.raises(ConfigError, match=r"no inner width brings it within 1 %$"):
        with_matches(experiment, count_of)
