"""What could not be pooled afterwards is refused before it trains."""

import json
from pathlib import Path

import pytest

from tests.support.small_runs import carry_out, shared_cache, small_config, small_run
from tiedlm.config.base import ConfigError
from tiedlm.data.prepare import prepare
from tiedlm.experiment.carry_out import train
from tiedlm.experiment.check_joins import check_joins
from tiedlm.experiment.plan import plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.folder import RunFolder


def test_another_seed_is_not_trained_on_a_text_that_was_written_over(tmp_path: Path) -> None:
    done = small_run(tmp_path, seed=0)
    carry_out(done)
    text = tmp_path / "text.txt"
    text.write_text(text.read_text(encoding="utf-8").replace("too", "also"), encoding="utf-8")
    experiment = load_experiment(tmp_path / "small.yaml", ["seeds=[0, 1]"])
    new = small_run(tmp_path, seed=1)
    with pytest.raises(ConfigError, match=r"data: the text is not what .*seed-0 was made with.*--fresh") as error:
        train(experiment, new, cache_dir=shared_cache())
    assert str(done.directory) in str(error.value)
    assert not RunFolder(new.directory).config_file.exists()


def test_a_text_of_its_own_is_no_hindrance(tmp_path: Path) -> None:
    carry_out(small_run(tmp_path, seed=0))
    other = tmp_path / "other.txt"
    other.write_text((tmp_path / "text.txt").read_text(encoding="utf-8").replace("too", "also"), encoding="utf-8")
    line = "  untied: {model: {tying: {type: untied}}}\n"
    corpus = f"corpus: {{type: text, file: {other}, fractions: [0.8, 0.1, 0.1]}}"
    changed = line.replace("}}}\n", f"}}}}, data: {{{corpus}}}}}\n")
    experiment = load_experiment(small_config(tmp_path, line, changed))
    new = next(run for run in plan(experiment, tmp_path / "runs") if run.config.variant == "untied")
    data = prepare(new.config.data, shared_cache())
    check_joins(new, plan(experiment, tmp_path / "runs"), data.record())


def test_seeds_of_two_versions_of_torch_are_refused_before_the_second_trains(tmp_path: Path) -> None:
    done, new, untied = small_run(tmp_path, seed=0), small_run(tmp_path, seed=1), small_run(tmp_path, variant="untied")
    carry_out(done)
    record = RunFolder(done.directory).data_record()
    assert record is not None
    check_joins(new, [done, new], record)
    file = RunFolder(done.directory).result_file
    document = json.loads(file.read_text())
    document["versions"]["torch"] = "1.0.0"
    file.write_text(json.dumps(document))
    with pytest.raises(ConfigError, match=r"torch version: .*seed-0 was trained with 1\.0\.0, installed is"):
        check_joins(new, [done, new], record)
    check_joins(untied, [done, new], record)
