"""Tasks in a process of their own: what comes of one is given back, or raised here as what it was there."""

from pathlib import Path

import pytest

from tests.support.small_runs import small_run
from tiedlm.config.base import ConfigError
from tiedlm.errors import RunError
from tiedlm.run.micro_batch import fits
from tiedlm.run.probe import measure
from tiedlm.run.process import call_worker

V = 257


def test_what_steps_take_is_measured_in_a_process_that_says_nothing_here(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    taken = measure(small_run(tmp_path).config, 2, V, num_steps=8)
    assert taken.host_growth_bytes is None or taken.host_growth_bytes > 0
    assert taken.gpu_peak_allocated_bytes is None
    assert taken.tokens_per_second is not None and taken.tokens_per_second > 0
    assert capfd.readouterr() == ("", "")


def test_a_micro_batch_that_does_not_fit_is_told_as_out_of_memory(tmp_path: Path) -> None:
    huge = small_run(tmp_path, "model.dim=1048576", "model.num_heads=1").config
    with pytest.raises(RunError, match="does not fit") as failed:
        call_worker("try_micro_batch", huge, size=1, vocab_size=V)
    assert failed.value.kind == "out_of_memory"
    assert not fits(huge, 1, V)


def test_a_wrong_request_is_one_here_too(tmp_path: Path) -> None:
    config = small_run(tmp_path).config
    elsewhere = config.model_copy(update={"training": config.training.model_copy(update={"device": "cuda:1000"})})
    with pytest.raises(ConfigError) as wrong:
        call_worker("try_micro_batch", elsewhere, size=1, vocab_size=V)
    assert [problem.key for problem in wrong.value.problems] == ["training.device"]


def test_a_fault_of_the_program_is_named_by_its_last_line_and_kept_as_the_cause(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    config = small_run(tmp_path).config
    with pytest.raises(RunError, match=r"tied: the trial of a micro-batch failed: \w*Error: ") as failed:
        fits(config, 4, 0)  # no vocabulary at all
    assert (failed.value.kind, len(str(failed.value).splitlines())) == ("error", 1)
    with pytest.raises(RunError, match=r"tied: the trial failed: \w*Error: "):
        measure(config, 4, 0, num_steps=1)
    assert capfd.readouterr() == ("", "")
