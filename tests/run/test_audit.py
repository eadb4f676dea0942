"""Audits of runs of ours, and of several paths at once."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from tests.support.planted_checkpoints import llama, plant
from tests.support.small_runs import carry_out, small_config, small_run
from tiedlm.checkpoints.audit import Audit
from tiedlm.errors import ConfigError
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.audit import Audited, audit_all
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.talk import SILENT


def audit(*paths: Path) -> Audited:
    return audit_all([str(path) for path in paths], sample=None, revision=None, talk=SILENT)


def audited(run: Run) -> Audit:
    (found,) = audit(run.directory).audits
    return found


STRATEGIES = {
    "{type: tied}": ("tied", True),
    "{type: untied}": ("untied", False),
    "{type: soft, strength: 0.1}": ("untied", None),
    "{type: projected}": ("tied", None),
    "{type: factorized, width: 4}": ("tied", None),
    "{type: factorized, width: 4, share: nothing}": ("untied", None),
    "{type: partial_dimensions, shared: 4}": ("untied", None),
}


@pytest.mark.parametrize("tying", STRATEGIES)
def test_a_run_is_tied_as_its_strategy_stores_it(tying: str, tmp_path: Path) -> None:
    config = small_config(tmp_path, "tied: {model: {tying: {type: tied}}}", f"tied: {{model: {{tying: {tying}}}}}")
    run = Run(pick(load_experiment(config, ["training.steps=1"]), "tied"), tmp_path / "runs")
    carry_out(run)
    found = audited(run)
    assert (found.verdict, found.flag, found.findings) == (*STRATEGIES[tying], ())
    assert found.flag_in_words == f"tying.type: {run.config.model.tying.type}"
    assert bool(found.notes) == (found.flag is None)


def test_a_run_is_found_by_its_folder_by_a_checkpoint_and_by_its_experiment(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.steps=2", "training.checkpoint_every=1", "training.keep_last=2")
    carry_out(run)
    first = run.directory / "checkpoint" / "step-1"
    (of_step,) = audit(first).audits
    (of_run,) = audit(run.directory).audits
    (of_experiment,) = audit(run.layout.experiment_dir).audits
    assert of_step.pair.input and of_step.pair.input.file == "step-1/model.safetensors"
    assert of_run.pair.input and of_run.pair.input.file == "step-2/model.safetensors"
    assert of_experiment.document() == of_run.document()


def test_a_copy_that_was_never_trained_and_a_config_that_is_wrong_are_found(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.steps=1", variant="untied")
    carry_out(run)
    weights = run.directory / "checkpoint" / "step-1" / "model.safetensors"
    stored = load_file(weights)
    save_file({**stored, "tying.output_embedding": np.copy(stored["tying.input_embedding"])}, weights)
    found = audited(run)
    assert (found.verdict, [each.kind for each in found.findings]) == ("untied_equal", ["untied_equal"])
    save_file({name: each for name, each in stored.items() if name != "tying.output_embedding"}, weights)
    assert audited(run).verdict == "conflict"


def test_a_run_without_weights_says_so(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.steps=1")
    carry_out(run)
    RunFolder(run.directory).drop_checkpoints()
    with pytest.raises(ConfigError, match="keeps no checkpoint"):
        audited(run)


def test_what_can_be_read_is_audited_beside_what_cannot(tmp_path: Path) -> None:
    good = plant(tmp_path / "good", llama(True), "input")
    (tmp_path / "empty").mkdir()
    both = audit(good, tmp_path / "empty")
    assert [each.verdict for each in both.audits] == ["tied"] and not both.has_findings
    assert "holds no weights" in str(both.errors[0])
    with pytest.raises(ConfigError) as caught:
        audit(tmp_path / "empty", tmp_path / "empty")
    assert len(caught.value.problems) == 2


def test_a_run_that_cannot_be_read_hides_no_other_of_its_experiment(tmp_path: Path) -> None:
    good, young, damaged = (small_run(tmp_path, "training.steps=1", seed=seed) for seed in range(3))
    for run in (good, young, damaged):
        carry_out(run)
    RunFolder(young.directory).drop_checkpoints()
    RunFolder(damaged.directory).result_file.write_text("{")
    found = audit(good.layout.experiment_dir)
    assert [each.path for each in found.audits] == [str(good.directory)]
    said = [str(error) for error in found.errors]
    assert "keeps no checkpoint" in said[0] and "result.json cannot be read" in said[1]


def test_folders_beside_the_checkpoints_are_not_taken_for_one(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.steps=1")
    carry_out(run)
    (run.directory / "checkpoint" / "step-²").mkdir()
    assert audited(run).verdict == "tied"


def test_checkpoints_that_may_not_be_looked_at_are_not_said_to_be_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(tmp_path, "training.steps=1")
    carry_out(run)
    listed = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path.name == "checkpoint":
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(ConfigError, match="checkpoint: Permission denied"):
        audited(run)


def test_a_file_of_a_run_that_may_not_be_read_hides_no_other_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = small_run(tmp_path, "training.steps=1")
    carry_out(run)
    good = plant(tmp_path / "good", llama(True), "input")

    def refuse(folder: RunFolder) -> None:
        raise PermissionError(13, "Permission denied", str(folder.result_file))

    monkeypatch.setattr(RunFolder, "made_with", refuse)
    found = audit(run.directory, good)
    assert [each.verdict for each in found.audits] == ["tied"]
    assert "result.json: Permission denied" in str(found.errors[0])
