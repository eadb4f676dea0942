"""The comparison of an experiment with parts is made of its runs, stored, and reused while they are the same."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.stored_parts import RECIPES, StoredParts, stored_recipes
from tiedlm.comparison.comparison import COMPARISON_FILE, load_comparison
from tiedlm.comparison.gather import gather
from tiedlm.comparison.parts import answer as answering
from tiedlm.comparison.parts.answer import answer_parts
from tiedlm.comparison.parts.question import PartsQuestion
from tiedlm.comparison.parts.reopen import gather_parts
from tiedlm.comparison.parts.stored import holds_parts, load_parts_comparison
from tiedlm.config.base import ConfigError
from tiedlm.run.folder import RunFolder
from tiedlm.run.result import RunFailure


def test_each_part_has_a_comparison_of_its_own_of_the_experiments_seeds_alone(tmp_path: Path) -> None:
    made, parts = stored_recipes(tmp_path)
    joined = answer_parts(parts, made.question(), made.home)
    assert [part.part for part in joined.parts] == list(RECIPES)
    for part in joined.parts:
        assert part.comparison is not None
        assert [variant.seeds for variant in part.comparison.variants] == [[0, 1], [0, 1]]
        assert load_comparison(made.home / part.part) == part.comparison
        assert part.settings == RECIPES[part.part]
    assert joined.recipes is not None
    (best,) = joined.recipes.best_against_best
    assert (best.chosen_by, best.judged_by, best.num_seeds) == ([0, 1], [2, 3], 2)
    assert len([key for key in joined.sources if key.endswith("result.json")]) == 3 * 4 + 4
    assert (joined.failures, joined.pending) == ([], [])
    assert joined.verdict == f"On {joined.verdict[3:].partition(': ')[0]}: {'; '.join(joined.statements)}."
    assert "2 seeds; 3 recipes: " in joined.verdict
    assert len(joined.recipes.within) == 3


def test_what_is_stored_is_what_was_made_and_is_reused_while_the_files_are_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, parts = stored_recipes(tmp_path)
    joined = answer_parts(parts, made.question(), made.home)
    assert load_parts_comparison(made.home) == joined
    with monkeypatch.context() as patch:
        patch.setattr(answering, "join", None)
        assert answer_parts(parts, made.question(), made.home) == joined
        assert gather_parts(made.home) == joined
    other = replace(made.question(), smallest_worthwhile=0.5)
    assert answer_parts(parts, other, made.home).smallest_worthwhile == 0.5
    result = parts[0].folders[0].result_file
    result.write_text(result.read_text() + "\n")
    assert answer_parts(parts, other, made.home).sources != joined.sources


def test_runs_that_failed_or_are_still_to_come_are_named_with_their_part(tmp_path: Path) -> None:
    made, parts = stored_recipes(tmp_path)
    (judge, *_) = [folder for part in parts for folder in part.judging.values()]
    judge.result_file.unlink()
    untied = next(folder for folder in parts[2].folders if folder.path.parent.name == "untied")
    config = untied.config()
    untied.result_file.unlink()
    untied.fail(config, RunFailure(variant="untied", seed=config.seed, kind="diverged", message="nan"))
    joined = answer_parts(parts, made.question(), made.home)
    part_of_judge = next(part.name for part in parts if judge in part.judging.values())
    assert joined.part_of_pending == [part_of_judge]
    assert [(run.seed,) for run in joined.pending] == [(2,)]
    assert (joined.part_of_failures, joined.failures[0].variant) == (["fast"], "untied")
    assert "2 seeds, so far; 3 recipes" in joined.verdict
    assert joined.statements[-1] == "one run failed and stands in no figure"


def test_a_part_in_which_nothing_has_finished_has_no_comparison(tmp_path: Path) -> None:
    made = StoredParts(tmp_path, seeds=(0, 1), choosing=(0,), judging=(1,))
    made.store(made.runs("default", {}, (0, 1)))
    parts = [made.part(name, RECIPES[name]) for name in ("default", "scaled")]
    joined = answer_parts(parts, made.question(), made.home)
    assert [part.comparison is None for part in joined.parts] == [False, True]
    assert joined.part_of_pending == ["scaled"] * 4
    assert gather_parts(made.home).pending == joined.pending
    nothing = StoredParts(tmp_path / "nothing", seeds=(0, 1), choosing=(0,), judging=(1,))
    empty = answer_parts([nothing.part("default", {})], nothing.question(), nothing.home)
    assert empty.verdict == "No run has finished: there is nothing to compare."
    assert not holds_parts(nothing.home)


def test_a_run_that_lost_its_config_is_named_and_not_just_left_out(tmp_path: Path) -> None:
    made, parts = stored_recipes(tmp_path)
    answer_parts(parts, made.question(), made.home)
    folder = parts[1].folders[0]
    folder.config_file.unlink()
    with pytest.raises(ConfigError, match=f"{folder.path}: has a result but no config.yaml"):
        gather_parts(made.home)


def test_the_runs_that_are_there_now_are_compared_as_was_asked_before(tmp_path: Path) -> None:
    made, parts = stored_recipes(tmp_path)
    folder = parts[1].folders[0]
    kept = folder.result_file.read_bytes()
    folder.result_file.unlink()
    before = answer_parts(parts, made.question(), made.home)
    assert before.part_of_pending == ["scaled"]
    folder.result_file.write_bytes(kept)
    after = gather_parts(made.home)
    assert after.pending == []
    assert after.recipes == answer_parts(parts, made.question(), made.home).recipes


def test_a_comparison_of_parts_is_not_taken_for_another_and_the_other_way_round(tmp_path: Path) -> None:
    made, parts = stored_recipes(tmp_path)
    answer_parts(parts, made.question(), made.home)
    assert [holds_parts(place) for place in (made.home, made.home / "default", tmp_path)] == [True, False, False]
    with pytest.raises(ConfigError) as caught:
        load_comparison(made.home)
    assert str(caught.value) == (
        f"{made.home / COMPARISON_FILE}: holds an experiment with 3 parts; name one of them, as {made.home / 'default'}"
    )
    with pytest.raises(ConfigError, match="not the comparison of an experiment with recipes or budgets"):
        load_parts_comparison(made.home / "default")
    with pytest.raises(ConfigError, match="no comparison is stored here"):
        load_parts_comparison(tmp_path)
    document = json.loads((made.home / COMPARISON_FILE).read_text())
    (made.home / COMPARISON_FILE).write_text(json.dumps({**document, "verdict": 1}))
    with pytest.raises(ConfigError, match="verdict: "):
        load_parts_comparison(made.home)
    assert answer_parts(parts, made.question(), made.home).verdict == document["verdict"]


def test_budgets_are_joined_by_their_lengths(tmp_path: Path) -> None:
    made = StoredParts(tmp_path, seeds=(0, 1, 2))
    parts = []
    for factor in (1, 2):
        made.store(made.runs(f"budget-{factor}", {"training.steps": 6 * factor}, made.seeds))
        parts.append(replace(made.part(f"budget-{factor}", {}), budget=float(factor)))
    for folder in parts[1].folders:
        result = json.loads(folder.result_file.read_text())
        folder.result_file.write_text(json.dumps({**result, "tokens_seen": 2 * result["tokens_seen"]}))
    question = PartsQuestion(name="small", kind="budgets", baseline="untied", seeds=made.seeds, primary="tied")
    joined = answer_parts(parts, question, made.home)
    assert joined.recipes is None and joined.budgets is not None
    (trend,) = joined.budgets.trends
    assert [(each.budget, each.tokens_seen) for each in trend.at] == [(1.0, 256), (2.0, 512)]
    assert len(trend.per_seed) == 3
    assert "256 and 512 tokens" in joined.verdict
    assert gather_parts(made.home).budgets == joined.budgets


def test_folders_of_one_part_can_still_be_compared_by_themselves(tmp_path: Path) -> None:
    made, parts = stored_recipes(tmp_path)
    answer_parts(parts, made.question(), made.home)
    assert gather([made.home / "default"]).experiment == "default"
    assert all(isinstance(folder, RunFolder) for part in parts for folder in part.folders)
