"""The experiment's file, written anew from what its runs were told."""

from pathlib import Path

import pytest

from tests.support.finished_runs import run_result, summarize
from tiedlm.comparison.comparison import Comparison, Pending
from tiedlm.experiment.reading import load_experiment
from tiedlm.report.figures.experiment_file import experiment_file, package_versions

VARIED = """
name: varied
seeds: [3, 1]
baseline: one
primary: three
smallest_worthwhile: 0.02
data: {corpus: {type: text, file: book.txt}, tokenizer: {type: byte}, seq_len: 32}
model: {num_layers: 2, dim: 32, num_heads: 2, dropout: 0.1}
training: {steps: 4, batch_size: 2, learning_rate: 1e-3}
variants:
  one:   {model: {tying: {type: tied}}}
  two:   {model: {tying: {type: untied, output_init: copy}, dim: 64}, training: {learning_rate: 2e-3}}
  three: {data: {tokenizer: {type: bpe, vocab_size: 300}}, training: {optimizer: sgd, momentum: 0.9}}
"""


def compared(path: Path) -> Comparison:
    """What the runs of a file could have come to."""
    experiment = load_experiment(path)
    results = [
        run_result(name, seed, config=experiment.run_config(name, seed).model_dump(mode="json"))
        for name in experiment.variants
        for seed in experiment.seeds
    ]
    return summarize(
        results,
        [],
        experiment.name,
        experiment.baseline,
        list(experiment.variants),
        primary=experiment.primary,
        smallest_worthwhile=experiment.smallest_worthwhile,
    )


@pytest.mark.parametrize("name", ["varied.yaml", "quickstart", "wikitext103"])
def test_the_file_plans_the_same_runs(name: str, tmp_path: Path) -> None:
    (tmp_path / "varied.yaml").write_text(VARIED)
    asked = load_experiment(tmp_path / name if name.startswith("varied") else name)
    written = experiment_file(compared(tmp_path / name if name.startswith("varied") else Path(name)))
    assert written is not None
    (tmp_path / "again.yaml").write_text(written)
    again = load_experiment(tmp_path / "again.yaml")
    assert {*again.seeds} == {*asked.seeds}
    assert (again.name, again.baseline, again.smallest_worthwhile) == (
        asked.name,
        asked.baseline,
        asked.smallest_worthwhile,
    )
    assert list(again.variants) == list(asked.variants)
    for variant in asked.variants:
        assert again.run_config(variant, 1) == asked.run_config(variant, 1)


def test_seeds_still_to_come_are_planned_too(tmp_path: Path) -> None:
    comparison = compared(Path("quickstart")).model_copy(update={"pending": [Pending(variant="tied", seed=77)]})
    (tmp_path / "again.yaml").write_text(experiment_file(comparison) or "")
    assert 77 in load_experiment(tmp_path / "again.yaml").seeds


def test_what_the_plan_added_is_asked_for_again_and_not_named(tmp_path: Path) -> None:
    comparison = compared(Path("quickstart"))
    for role in ("noise_floor", "matched_width"):
        added = comparison.variants[1].model_copy(update={"name": "added", "added": {"role": role, "of": "untied"}})
        more = Comparison.model_validate_json(
            comparison.model_copy(update={"variants": [*comparison.variants, added]}).model_dump_json(warnings=False)
        )
        (tmp_path / f"{role}.yaml").write_text(experiment_file(more) or "")
        again = load_experiment(tmp_path / f"{role}.yaml")
        assert list(again.variants_of_file) == ["tied", "untied"]
        assert (again.noise_floor, again.match) == (role == "noise_floor", "parameters" if "wid" in role else None)


def test_without_configs_there_is_no_file() -> None:
    comparison = compared(Path("quickstart"))
    bare = [variant.model_copy(update={"config": {}}) for variant in comparison.variants]
    assert experiment_file(comparison.model_copy(update={"variants": bare})) is None


def test_versions_that_differ_are_all_named() -> None:
    results = [run_result("tied"), run_result("untied", versions={"torch": "2.14.1", "python": "3.11.7"})]
    comparison = summarize(results, [], "example", "untied", ["tied", "untied"])
    assert package_versions(comparison) == {"torch": "2.13.0 / 2.14.1", "python": "3.11.7"}
