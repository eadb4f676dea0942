"""One run: what it writes, how it goes on after a stop, what it refuses and how it fails."""

import json
import math
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.small_runs import (
    LONG,
    Heard,
    assert_same_outcome,
    carry_out,
    checkpoints,
    counting_openings,
    metrics,
    newest_step,
    shared_cache,
    small_config,
    small_run,
    steps,
    stop_at,
    weights,
)
from tiedlm.config.base import ConfigError
from tiedlm.data.config import SPLITS
from tiedlm.data.prepare import prepare
from tiedlm.errors import Interrupted, RunError
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.model.language_model import LanguageModel
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunResult
from tiedlm.talk import Talk
from tiedlm.training.checkpoint import whats_wrong
from tiedlm.training.environment import NUMERICS_VERSION

V = 257
L03 = ("training.steps=20", "model.dropout=0.1", "training.micro_batch_size=2", "training.warmup=3")


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, RunResult]:
    """20 steps without a stop; an epoch is 15."""
    run = small_run(tmp_path_factory.mktemp("straight"), *L03)
    return run, carry_out(run)


def stop(run: Run, talk: Talk) -> Interrupted:
    """Carry out a run that is to be stopped."""
    with pytest.raises(Interrupted) as stopped:
        carry_out(run, talk=talk)
    assert not RunFolder(run.directory).result_file.exists()
    return stopped.value


def failure_of(run: Run, kind: str, talk: Talk | None = None) -> RunError:
    """Carry out a run that is to fail."""
    with pytest.raises(RunError) as failed:
        carry_out(run, talk=talk or Heard())
    assert failed.value.kind == kind
    assert len(str(failed.value).splitlines()) <= 2
    assert not RunFolder(run.directory).result_file.exists()
    return failed.value


def test_the_sums_of_the_result_are_those_of_its_tokens(straight: tuple[Run, RunResult]) -> None:
    run, result = straight
    data = prepare(run.config.data, shared_cache())
    for split in SPLITS:
        sums = result.splits[split]
        stored = np.load(RunFolder(run.directory).evaluation_file(split))
        assert stored["nll"].dtype == np.float32
        assert float(stored["nll"].sum(dtype=np.float64)) == sums.nll
        assert len(stored["nll"]) == len(stored["target"]) == len(stored["document"]) == sums.tokens
        tokens = data.split(split)
        assert np.array_equal(stored["target"], tokens.ids[1 : sums.tokens + 1])
        assert len(np.unique(stored["document"])) == sums.documents
        assert np.array_equal(stored["document"], tokens.document_index()[: sums.tokens])
    assert sorted(result.splits) == ["test", "train", "validation"]


def test_the_train_split_is_scored_as_far_as_validation_is_long(straight: tuple[Run, RunResult]) -> None:
    run, result = straight
    data, sums = prepare(run.config.data, shared_cache()), result.splits
    assert sums["train"].tokens == sums["validation"].tokens == data.split("validation").num_tokens
    assert sums["test"].tokens == data.split("test").num_tokens
    assert (sums["train"].words, sums["train"].bytes) == (None, None), "the text of a part was not counted"
    assert sums["train"].words_reason and sums["train"].bytes_reason
    assert sums["test"].bytes == data.split("test").bytes


def test_every_step_is_written_once_with_the_rate_it_used(straight: tuple[Run, RunResult]) -> None:
    run, result = straight
    lines = steps(run)
    assert [line["step"] for line in lines] == list(range(1, 21))
    rate = run.config.training.learning_rate
    cosine = [rate * (1 + math.cos(math.pi * done / 17)) / 2 for done in range(17)]
    assert [line["learning_rate"] for line in lines] == pytest.approx([rate / 3, rate * 2 / 3, rate, *cosine], rel=1e-9)
    assert (lines[0]["loss"], lines[-1]["loss"]) == (result.first_loss, result.last_loss)
    assert lines[-1]["tokens"] == result.tokens_seen <= 20 * 4 * 16
    assert result.train_tokens == prepare(run.config.data, shared_cache()).split("train").num_tokens
    assert result.steps == 20
    assert abs(result.first_loss - math.log(V)) < 0.3


def test_the_folder_tells_its_run(straight: tuple[Run, RunResult]) -> None:
    run, result = straight
    folder = RunFolder(run.directory)
    assert folder.config() == run.config
    assert folder.result() == result
    assert result.config == json.loads(run.config.model_dump_json())
    assert (result.variant, result.seed, result.tying) == ("tied", 0, "tied")
    told = {
        "device": "cpu",
        "precision": "fp32",
        "micro_batch_size": 2,
        "num_threads": 1,
        "arithmetic": NUMERICS_VERSION,
    }
    assert result.effective.model_dump(include=set(told)) == told
    assert (result.memory.gpu_peak_allocated_bytes, result.memory.gpu_peak_reserved_bytes) == (None, None)
    assert result.memory.host_peak_rss_bytes
    assert not any(path.suffix == ".part" for path in run.directory.rglob("*"))


def test_the_result_is_the_last_thing_that_is_written(straight: tuple[Run, RunResult]) -> None:
    run, _ = straight
    stamp = (run.directory / "result.json").stat().st_mtime_ns
    others = [path for path in run.directory.rglob("*") if path.is_file() and not path.name.startswith("result")]
    assert all(path.stat().st_mtime_ns <= stamp for path in others)
    assert {"config.yaml", "metrics.jsonl", "test.npz", "model.safetensors"} <= {path.name for path in others}


def test_the_text_is_opened_once(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    prepare(small_run(tmp_path).config.data, cache)
    with counting_openings() as opened:
        carry_out(small_run(tmp_path), cache=cache)
    assert opened == ["text"]


def test_a_complete_run_is_returned_at_once(straight: tuple[Run, RunResult]) -> None:
    run, result = straight
    before = {path: path.stat().st_mtime_ns for path in run.directory.rglob("*") if not path.name.startswith("lock")}
    heard = Heard(lambda step: pytest.fail("it trains"))
    assert carry_out(run, talk=heard) == result
    after = {path: path.stat().st_mtime_ns for path in run.directory.rglob("*") if not path.name.startswith("lock")}
    before.pop(run.directory, None), after.pop(run.directory, None)
    assert (before, heard.lines) == (after, [])


def test_a_repeated_run_is_bit_equal_and_a_fresh_start_too(straight: tuple[Run, RunResult], tmp_path: Path) -> None:
    again = small_run(tmp_path, *L03)
    carry_out(again)
    assert_same_outcome(straight[0], again)
    carry_out(again, fresh=True)
    assert_same_outcome(straight[0], again)


def test_validating_changes_nothing_in_training(straight: tuple[Run, RunResult], tmp_path: Path) -> None:
    often = small_run(tmp_path, *L03, "training.evaluate_every=2", "training.checkpoint_every=3")
    carry_out(often)
    assert_same_outcome(straight[0], often)
    validated = [line for line in metrics(often) if "validation_nll" in line]
    assert [line["step"] for line in validated] == list(range(2, 20, 2)), "the last step is scored anyway"
    assert {line["validation_tokens"] for line in validated} == {straight[1].splits["validation"].tokens}
    assert len({line["validation_nll"] for line in validated}) == len(validated)


def test_validating_does_not_touch_a_state_that_windows_hand_on(tmp_path: Path) -> None:
    model = "model: {type: lstm, num_layers: 1, dim: 16, hidden_dim: 16, dropout: 0.1}"
    config = small_config(tmp_path, "model: {num_layers: 1, dim: 16, num_heads: 2}", model)
    noisy = "variants.tied.model.tying={type: tied, embedding_dropout: 0.1, embedding_noise: 0.1}"
    never, often = (
        Run(pick(load_experiment(config, [noisy, "training.steps=8", *more]), "tied"), tmp_path / runs)
        for runs, more in (("never", []), ("often", ["training.evaluate_every=2"]))
    )
    carry_out(never)
    carry_out(often)
    assert len([line for line in metrics(often) if "validation_nll" in line]) == 3
    assert_same_outcome(never, often)


def test_the_curve_holds_every_validation_and_the_end_and_survives_a_stop(tmp_path: Path) -> None:
    often = ("training.steps=10", "training.evaluate_every=4")
    whole, stopped = small_run(tmp_path, *often), small_run(tmp_path, *often, runs="stopped")
    straight = carry_out(whole)
    stop(stopped, stop_at(5))
    curves = [straight.validation_curve, carry_out(stopped).validation_curve]
    assert [point.step for point in curves[0]] == [4, 8, 10]
    tokens = {line["step"]: line["tokens"] for line in steps(whole)}
    assert [point.tokens for point in curves[0]] == [tokens[step] for step in (4, 8, 10)]
    scored = straight.splits["validation"]
    lines = [line for line in metrics(whole) if "validation_nll" in line]
    nats = [*(line["validation_nll"] / scored.tokens for line in lines), scored.nll / scored.tokens]
    assert [point.nats_per_token for point in curves[0]] == nats
    seconds = [point.seconds for point in curves[0]]
    assert seconds == [*(line["seconds"] for line in lines), straight.seconds]
    assert 0 < seconds[0] < seconds[1] <= seconds[2] + 1e-4, "of training alone, to the tenth of a millisecond"
    assert [point.model_dump(exclude={"seconds"}) for point in curves[0]] == [
        point.model_dump(exclude={"seconds"}) for point in curves[1]
    ]


def test_an_old_result_has_no_curve(straight: tuple[Run, RunResult]) -> None:
    document = straight[1].model_dump(mode="json")
    del document["validation_curve"]
    assert RunResult.model_validate(document).validation_curve == []


def test_the_result_holds_how_far_the_measured_steps_moved_the_weights(straight: tuple[Run, RunResult]) -> None:
    run, result = straight
    measured = {line["step"]: line["update_ratios"] for line in steps(run) if "update_ratios" in line}
    assert measured.keys() == {10} and measured[10].keys() == {"shared_embedding", "body"}
    assert result.update_ratios is not None
    assert result.update_ratios.steps == [10]
    assert result.update_ratios.by_part == {part: [ratio] for part, ratio in measured[10].items()}
    document = result.model_dump(mode="json")
    del document["update_ratios"]
    assert RunResult.model_validate(document).update_ratios is None, "of an earlier version"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_l03_stopped_and_resumed_is_the_run_without_a_stop(
    straight: tuple[Run, RunResult], tmp_path: Path, number: signal.Signals
) -> None:
    run = small_run(tmp_path, *L03)
    stopped = stop(run, stop_at(10, number))
    assert stopped.exit_code == 128 + number
    assert "after step 10" in str(stopped)
    assert (checkpoints(run), len(steps(run))) == (["step-10"], 10)
    heard = Heard()
    carry_out(run, talk=heard)
    assert any("goes on after step 10 of 20" in line for line in heard.lines)
    assert_same_outcome(straight[0], run)


def test_l10_resumed_from_the_one_before_where_the_newest_is_damaged(
    straight: tuple[Run, RunResult], tmp_path: Path
) -> None:
    """As after a crash: lines of steps that no checkpoint holds, one of them cut short."""
    run = small_run(tmp_path, *L03, "training.checkpoint_every=4")
    stop(run, stop_at(11))
    folder = RunFolder(run.directory)
    assert checkpoints(run) == ["step-11", "step-8"]
    os.truncate(folder.checkpoints / "step-11" / "optimizer.pt", 100)
    with folder.metrics_file.open("a") as file:
        file.write('{"step": 12, "lo')
    heard = Heard()
    carry_out(run, talk=heard)
    assert any("step-11" in line and "passed over" in line for line in heard.lines)
    assert_same_outcome(straight[0], run)


def test_a_stop_while_it_is_scored_leaves_only_the_scoring_to_do(
    straight: tuple[Run, RunResult], tmp_path: Path
) -> None:
    run = small_run(tmp_path, *L03)
    stopped = stop(run, stop_at(20))
    assert "scoring" in str(stopped)
    carry_out(run, talk=Heard(lambda step: pytest.fail("it trains")))
    assert_same_outcome(straight[0], run)


def test_a_stop_in_the_middle_of_a_split_ends_the_scoring_at_once(
    straight: tuple[Run, RunResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, scored, of = small_run(tmp_path, *L03), [], LanguageModel.token_nll

    def stopping(model: LanguageModel, *pair: Any) -> Any:
        scored.append(len(pair[0]))
        os.kill(os.getpid(), signal.SIGINT)
        return of(model, *pair)

    with monkeypatch.context() as patch:
        patch.setattr(LanguageModel, "token_nll", stopping)
        assert "scoring" in str(stop(run, Heard()))
    assert len(scored) == 1
    carry_out(run, talk=Heard(lambda step: pytest.fail("it trains")))
    assert_same_outcome(straight[0], run)


@pytest.mark.parametrize("content", [None, "", '{"step": 1, "loss": 5.0}\n{"st'], ids=["missing", "empty", "cut"])
def test_what_the_log_of_a_run_lost_is_said_when_it_goes_on(tmp_path: Path, content: str | None) -> None:
    run = small_run(tmp_path, "training.steps=6")
    stop(run, stop_at(4))
    file = RunFolder(run.directory).metrics_file
    file.unlink()
    if content is not None:
        file.write_text(content)
    heard = Heard()
    carry_out(run, talk=heard)
    told = 1 if content else 0
    assert [line for line in heard.lines if f"tells of the first {told} of 4 steps alone" in line]


@pytest.mark.parametrize(("every", "kept"), [(3, ["step-10", "step-9"]), (5, ["step-10", "step-5"]), (99, ["step-10"])])
def test_l12_the_last_step_is_saved_whatever_the_interval(tmp_path: Path, every: int, kept: list[str]) -> None:
    run = small_run(tmp_path, "training.steps=10", f"training.checkpoint_every={every}")
    carry_out(run)
    assert checkpoints(run) == kept


def test_fresh_forgets_what_was_there(tmp_path: Path) -> None:
    stop(small_run(tmp_path, LONG), stop_at(4))
    other = small_run(tmp_path, "training.learning_rate=2e-3")
    with pytest.raises(ConfigError, match="--fresh"):
        carry_out(other)
    carry_out(other, fresh=True)
    assert len(steps(other)) == 6
    assert checkpoints(other) == ["step-6"]
    assert RunFolder(other.directory).config() == other.config


def test_a_text_that_changed_since_the_stop_is_not_trained_on(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    stop(run, stop_at(3))
    text = tmp_path / "text.txt"
    text.write_text(text.read_text().replace("Paragraph 3", "Paragraph 8"))
    with pytest.raises(ConfigError, match="--fresh") as error:
        carry_out(run)
    assert error.value.problems[0].key == "data.corpus.file"
    assert checkpoints(run) == ["step-3"]
    carry_out(run, fresh=True)


@pytest.mark.parametrize(
    ("setting", "key"),
    [("model.vocab_size=300", "model.vocab_size"), ("training.warmup=0.99", "training.warmup")],
)
def test_a_request_that_cannot_be_met_claims_nothing(tmp_path: Path, setting: str, key: str) -> None:
    wrong = small_run(tmp_path, setting)
    with pytest.raises(ConfigError) as error:
        carry_out(wrong)
    assert error.value.problems[0].key == key
    assert not wrong.directory.exists()
    carry_out(small_run(tmp_path))


def test_tied_and_untied_start_alike_and_see_the_same_batches(tmp_path: Path) -> None:
    tied, untied, other = (
        carry_out(small_run(tmp_path, variant=variant, seed=seed))
        for variant, seed in (("tied", 0), ("untied", 0), ("tied", 1))
    )
    assert tied.hashes == untied.hashes
    assert tied.last_loss != untied.last_loss
    assert tied.hashes.tokens == other.hashes.tokens
    for name in ("body", "input_embedding", "batches"):
        assert getattr(tied.hashes, name) != getattr(other.hashes, name)
    for result in (tied, untied):
        assert abs(result.first_loss - math.log(V)) < 0.3


def test_a_copy_has_the_tied_first_loss_to_the_last_bit(tmp_path: Path) -> None:
    tied = carry_out(small_run(tmp_path))
    copied = carry_out(
        small_run(tmp_path, "variants.untied.model.tying={type: untied, output_init: copy}", variant="untied")
    )
    assert copied.first_loss == tied.first_loss
    assert copied.last_loss != tied.last_loss
    assert copied.parameters.total == tied.parameters.total + V * 16


def test_a_run_that_diverges_stops_with_its_step_named_and_can_be_started_anew(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.learning_rate=1e20", LONG, "training.max_grad_norm=null")
    failed = failure_of(run, "diverged")
    assert failed.step is not None
    assert f"step {failed.step}" in str(failed)
    stored = RunFolder(run.directory).failure()
    assert stored is not None
    assert (stored.kind, stored.step, stored.message) == ("diverged", failed.step, str(failed))
    assert len(steps(run)) == failed.step - 1
    json.loads(RunFolder(run.directory).metrics_file.read_text().splitlines()[-1], parse_constant=pytest.fail)
    carry_out(small_run(tmp_path), fresh=True)
    assert RunFolder(run.directory).failure() is None


def test_a_model_ruined_by_its_last_step_has_diverged_too(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.learning_rate=1e38", "training.steps=1")
    failed = failure_of(run, "diverged")
    assert "after step 1" in str(failed)


def test_m03_a_model_that_no_memory_holds_is_a_failure_that_is_kept(tmp_path: Path) -> None:
    run = small_run(tmp_path, "model.dim=1048576", "model.num_heads=1")  # D x 3 D is 12 TiB: refused at once
    failed = failure_of(run, "out_of_memory")
    assert "tied seed 0" in str(failed)
    assert "micro_batch_size" in str(failed)
    stored = RunFolder(run.directory).failure()
    assert stored is not None
    assert stored.kind == "out_of_memory"


@contextmanager
def largest_file(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(("size", "name"), [(20_000, "step-6"), (45_000, "step-6"), (400, "metrics.jsonl")])
def test_l10_a_full_disk_is_told_and_the_checkpoint_before_is_used(
    straight: tuple[Run, RunResult], tmp_path: Path, size: int, name: str
) -> None:
    """Full while the weights are written, while the optimizer's state is, or with a line of the metrics."""
    run = small_run(tmp_path, *L03, "training.checkpoint_every=3")

    def fill(step: int) -> None:
        if step == 4:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    with largest_file(resource.getrlimit(resource.RLIMIT_FSIZE)[0]):
        failed = failure_of(run, "disk", Heard(fill))
    assert str(run.directory) in str(failed)
    assert name in str(failed)
    assert "File too large (is a file-size limit set?)" in str(failed)
    assert checkpoints(run) == ["step-3"], "nothing partial"
    assert whats_wrong(RunFolder(run.directory).checkpoints / "step-3") is None
    heard = Heard()
    carry_out(run, talk=heard)
    assert any("after step 3" in line for line in heard.lines)
    assert_same_outcome(straight[0], run)


def test_a_run_does_not_end_because_nobody_listens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with pytest.raises(BrokenPipeError):
        os.write(writer, b"nobody reads this")
    with os.fdopen(writer, "w") as broken:
        monkeypatch.setattr(sys, "stderr", broken)
        assert carry_out(small_run(tmp_path), talk=Talk(patience=0)).steps == 6
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), writer)  # for what is still held back


def kill_twice(step: int) -> Callable[[int], None]:
    def act(done: int) -> None:
        if done == step:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    return act


def test_a_second_signal_breaks_off_at_once_and_leaves_the_checkpoint_before(
    straight: tuple[Run, RunResult], tmp_path: Path
) -> None:
    run = small_run(tmp_path, *L03, "training.checkpoint_every=3")
    with pytest.raises(KeyboardInterrupt):
        carry_out(run, talk=Heard(kill_twice(8)))
    assert newest_step(run) == 6
    carry_out(run)
    assert_same_outcome(straight[0], run)
    assert weights(run)
