"""What is said of each run of a plan: that it begins, what came out, how many are done."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.clock import Clock
from tests.support.in_process import in_this_process
from tests.support.small_runs import Heard, carry_out, carry_out_to, shared_cache, small_experiment
from tiedlm.comparison.compare import compare
from tiedlm.errors import Interrupted
from tiedlm.experiment.plan import plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.experiment.series import Portion, Series, carry_out_each
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.time_left import Ahead


def perplexity_line(number: str, label: str, split: str = "test") -> str:
    return rf"\[{re.escape(number)}\] {label}: {split} perplexity [\d,]+\.\d\d in \d\d:\d\d"


def test_each_run_that_ends_is_a_line_which_counts_those_that_were_there_before(tmp_path: Path) -> None:
    experiment, heard = small_experiment(tmp_path, "seeds=[0, 1]"), Heard()
    carry_out(plan(experiment, tmp_path / "runs")[0])
    with in_this_process():
        compare(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache(), talk=heard)
    ended = [line for line in heard.lines if "perplexity" in line]
    labels = [("2/4", "untied seed 0"), ("3/4", "tied seed 1"), ("4/4", "untied seed 1")]
    assert len(ended) == len(labels)
    for line, (number, label) in zip(ended, labels, strict=True):
        assert re.fullmatch(perplexity_line(number, label), line), line


def test_a_tuning_run_tells_of_validation(tmp_path: Path) -> None:
    small_experiment(tmp_path)
    file = tmp_path / "small.yaml"
    file.write_text(file.read_text() + "tune: {seeds: [100], grid: {training.learning_rate: [1e-3, 2e-3]}}\n")
    heard = Heard()
    with in_this_process():
        compare(load_experiment(file), runs_dir=tmp_path / "runs", cache_dir=shared_cache(), talk=heard)
    ended = [line for line in heard.lines if line.startswith("[trial ")]
    assert len(ended) == 4
    for line in ended:
        assert re.fullmatch(r"\[trial \d/4\] .*: validation perplexity [\d,]+\.\d\d in \d\d:\d\d", line), line


def test_a_note_on_the_text_is_said_once_and_not_before_every_run(tmp_path: Path) -> None:
    experiment, heard = (
        small_experiment(tmp_path, "data.tokenizer={type: bpe, vocab_size: 4000}", "seeds=[0, 1]"),
        Heard(),
    )
    with in_this_process():
        compare(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache(), talk=heard)
    assert len([line for line in heard.lines if "asked for 4,000 types" in line]) == 1


def test_an_interrupt_says_how_many_runs_are_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    experiment = small_experiment(tmp_path, "seeds=[0, 1]")
    runs = plan(experiment, tmp_path / "runs")
    stop = Heard(lambda step: os.kill(os.getpid(), signal.SIGINT) if step == 3 and first_is_done() else None)

    def first_is_done() -> bool:
        return RunFolder(runs[0].directory).result() is not None

    with in_this_process(stop), pytest.raises(Interrupted, match=r"state saved.*; 1 of 4 runs done$") as stopped:
        compare(experiment, runs_dir=tmp_path / "runs", cache_dir=shared_cache())
    assert stopped.value.exit_code == 130


def test_a_run_is_told_how_many_come_after_it_and_what_those_before_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one was begun before: the rest of it is no measure of the others."""
    experiment = small_experiment(tmp_path, "seeds=[0, 1]")
    runs = plan(experiment, tmp_path / "runs")
    RunFolder(runs[0].directory).claim(runs[0].config)
    clock, told = Clock(), list[Ahead]()
    seconds = iter([1.0, 20.0, 40.0, 7.0])

    def run_for_a_while(run: Run, *, ahead: Ahead, **_: Any) -> None:
        told.append(ahead)
        clock.now += next(seconds)
        carry_out(run)

    monkeypatch.setattr("tiedlm.experiment.carry_out.run_in_child", run_for_a_while)
    assert len(list(carry_out_each(runs, runs, cache_dir=shared_cache(), later=5, clock=clock))) == 4
    assert told == [(8, None), (7, None), (6, 20.0), (5, 30.0)]


def test_what_comes_after_a_part_of_a_run_is_counted_in_parts_of_its_length(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fifth in 4 seconds, so 20 for a whole one; before two fifths, one and a half whole ones are 3.75 such parts."""
    (run,) = plan(small_experiment(tmp_path), tmp_path / "runs")[:1]
    clock, told = Clock(), list[Ahead]()

    def pause(run: Run, *, ahead: Ahead, until: float, **_: Any) -> None:
        told.append(ahead)
        clock.now += 4
        carry_out_to(run, until)

    monkeypatch.setattr("tiedlm.experiment.carry_out.run_in_child", pause)
    heard = Heard()
    series = Series(5, cache_dir=shared_cache(), talk=heard, what="trial ", clock=clock)
    series.carry_out(Portion(run, 0, 0.2), [run], later=2)
    series.carry_out(Portion(run, 0.2, 0.6), [run], later=1.5)
    first, second = told
    assert first.num_runs == pytest.approx(10) and first.seconds_each is None
    assert second.num_runs == pytest.approx(3.75) and second.seconds_each == pytest.approx(8)
    for line, number, step in zip(heard.lines, ("1/5", "2/5"), (2, 4), strict=True):
        pattern = rf"\[trial {number}\] tied seed 0: validation perplexity [\d,.]+ after step {step} in 00:04"
        assert re.fullmatch(pattern, line), line
