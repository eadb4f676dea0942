"""A trained run again."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.small_runs import (
    Heard,
    carry_out,
    checkpoints,
    counting_openings,
    metrics,
    newest_step,
    shared_cache,
    small_run,
    stop_at,
    weights,
)
from tiedlm.config.base import ConfigError
from tiedlm.data.config import SPLITS, Split
from tiedlm.errors import Interrupted, RunError
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.reopen import evaluate_run, generate_text
from tiedlm.run.result import RunResult

ROPE = "model.positions=rope"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, RunResult]:
    """Long enough that context matters."""
    settings = ("training.steps=60", "training.learning_rate=1e-2", "evaluation.stride=12", ROPE)
    run = small_run(tmp_path_factory.mktemp("trained"), *settings)
    return run, carry_out(run)


def evaluate(run: Run, split: Split, **windows: Any) -> dict[str, Any]:
    return evaluate_run(run.directory, split, cache_dir=shared_cache(), **windows)


@pytest.mark.parametrize("split", ["validation", "test"])
def test_scored_again_the_same_way_it_is_the_stored_sum(trained: tuple[Run, RunResult], split: Split) -> None:
    run, result = trained
    again = evaluate(run, split)
    assert {key: again[key] for key in ("nll", "tokens", "seq_len", "stride", "bytes", "unigram_nll")} == (
        result.splits[split].model_dump(include={"nll", "tokens", "seq_len", "stride", "bytes", "unigram_nll"})
    )
    assert (again["seq_len"], again["stride"]) == (16, 12)


def test_p05_perplexity_a_word_and_a_token_are_of_one_sum(trained: tuple[Run, RunResult]) -> None:
    document = evaluate(trained[0], "test")
    by_words = math.log(document["word_perplexity"]) * document["words"]
    assert by_words == pytest.approx(math.log(document["token_perplexity"]) * document["tokens"], rel=1e-9)
    assert by_words == pytest.approx(document["nll"], rel=1e-9)
    assert document["words"] < document["tokens"]


def test_more_context_for_every_token_scores_the_same_tokens_and_better(trained: tuple[Run, RunResult]) -> None:
    run, _ = trained
    none, some, most = (evaluate(run, "test", stride=stride) for stride in (16, 8, 1))
    assert none["tokens"] == some["tokens"] == most["tokens"]
    assert none["nll"] > most["nll"]
    assert some["nll"] not in (none["nll"], most["nll"])


def test_a_shorter_window_shortens_the_stride_of_the_config(trained: tuple[Run, RunResult]) -> None:
    document = evaluate(trained[0], "test", seq_len=8)
    assert (document["seq_len"], document["stride"]) == (8, 8)


def test_windows_that_would_leave_tokens_out_are_refused(trained: tuple[Run, RunResult]) -> None:
    with pytest.raises(ConfigError) as error:
        evaluate(trained[0], "test", seq_len=8, stride=9)
    assert error.value.problems[0].key == "--stride"


def test_longer_windows_than_trained_are_for_positions_without_a_table(
    trained: tuple[Run, RunResult], tmp_path: Path
) -> None:
    assert evaluate(trained[0], "test", seq_len=20)["seq_len"] == 20
    learned = small_run(tmp_path)
    carry_out(learned)
    with pytest.raises(ConfigError, match="16") as error:
        evaluate(learned, "test", seq_len=17)
    assert error.value.problems[0].key == "--seq-len"


def test_a_sample_hangs_on_its_seed_and_the_likeliest_on_nothing(trained: tuple[Run, RunResult]) -> None:
    run, _ = trained

    def text(seed: int, temperature: float, **more: Any) -> str:
        cache, sampled = shared_cache(), {"seed": seed, "temperature": temperature, **more}
        return generate_text(run.directory, "Paragraph", cache_dir=cache, num_tokens=30, **sampled)

    assert text(1, 1.0) == text(1, 1.0) != text(2, 1.0)
    assert text(1, 0.0) == text(2, 0.0) == text(3, 1.0, top_k=1) == text(4, 1e-40)


def test_a_prompt_of_bytes_that_are_no_text_is_refused(trained: tuple[Run, RunResult]) -> None:
    run, _ = trained
    with pytest.raises(ConfigError, match="--prompt: holds bytes that are no text"):
        generate_text(run.directory, "caf\udce9", cache_dir=shared_cache(), num_tokens=1)


def test_nothing_that_is_stored_changes(trained: tuple[Run, RunResult]) -> None:
    run, _ = trained
    before = {path: path.read_bytes() for path in run.directory.rglob("*") if path.is_file()}
    for split in SPLITS:
        evaluate(run, split)
    assert {path: path.read_bytes() for path in run.directory.rglob("*") if path.is_file()} == before


def test_a_run_that_was_stopped_is_read_from_its_newest_checkpoint_that_is_whole(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.checkpoint_every=2")
    with pytest.raises(Interrupted):
        carry_out(run, talk=stop_at(5))
    newest = evaluate(run, "test")["nll"]
    folder = RunFolder(run.directory).checkpoints
    (folder / "step-5" / "model.safetensors").write_bytes(b"")
    heard = Heard()
    before = evaluate_run(run.directory, "test", cache_dir=shared_cache(), talk=heard)["nll"]
    assert before != newest
    assert "step-5" in heard.lines[0]
    (folder / "step-4" / "manifest.json").unlink()
    with pytest.raises(RunError, match="no valid checkpoint"):
        evaluate(run, "test")


def test_the_text_is_opened_once(trained: tuple[Run, RunResult]) -> None:
    with counting_openings() as opened:
        evaluate(trained[0], "test")
    assert opened == ["text"]


def test_tokens_that_were_damaged_since_are_not_scored(tmp_path: Path) -> None:
    run, cache = small_run(tmp_path), tmp_path / "cache"
    result = carry_out(run, cache=cache)
    (ids,) = (cache / "tokens").glob("*/test.ids")
    ids.write_bytes(bytes(len(ids.read_bytes())))
    assert evaluate_run(run.directory, "test", cache_dir=cache)["nll"] == result.splits["test"].nll, (
        "they were made again"
    )


def test_another_text_than_the_run_saw_is_refused(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    carry_out(run)
    text = tmp_path / "text.txt"
    text.write_text(text.read_text() + "One paragraph more.\n")
    with pytest.raises(ConfigError) as error:
        evaluate(run, "test")
    assert error.value.problems[0].key == "data"


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="holds no run"):
        evaluate_run(tmp_path, "test", cache_dir=tmp_path)


@pytest.fixture(scope="module")
def wavering(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Steps too large: it gets worse again."""
    often = ("training.evaluate_every=3", "training.checkpoint_every=3", "training.keep_last=1")
    run = small_run(tmp_path_factory.mktemp("wavering"), "training.steps=20", "training.learning_rate=0.3", *often)
    with pytest.raises(Interrupted):
        carry_out(run, talk=stop_at(10))
    return run


def test_the_best_in_validation_is_kept_besides_the_last_and_can_be_scored(wavering: Run) -> None:
    """Also across a stop, whose step is saved without having been validated."""
    carry_out(wavering)
    scores = {line["step"]: line["validation_nll"] for line in metrics(wavering) if "validation_nll" in line}
    best = min(scores, key=lambda step: scores[step])
    assert checkpoints(wavering) == sorted([f"step-{best}", "step-20"])
    heard = Heard()
    document = evaluate(wavering, "validation", checkpoint="best", talk=heard)
    last = evaluate(wavering, "validation")
    assert document["nll"] == pytest.approx(scores[best], rel=1e-6) and document["nll"] < last["nll"]
    assert (document["checkpoint"], last["checkpoint"]) == ("best", "last")
    assert any(f"step {best}" in line for line in heard.lines)


def test_the_end_is_the_best_where_nothing_scored_better(trained: tuple[Run, RunResult]) -> None:
    assert evaluate(trained[0], "test", checkpoint="best")["nll"] == trained[1].splits["test"].nll


def test_without_a_score_there_is_no_best(tmp_path: Path) -> None:
    run = small_run(tmp_path)
    with pytest.raises(Interrupted):
        carry_out(run, talk=stop_at(2))
    with pytest.raises(ConfigError, match="evaluate_every") as error:
        evaluate(run, "test", checkpoint="best")
    assert error.value.problems[0].key == "--checkpoint"


def test_of_a_run_that_diverged_the_last_finite_weights_are_kept_and_can_be_scored(tmp_path: Path) -> None:
    run = small_run(tmp_path, "training.learning_rate=1e16", "training.steps=50", "training.checkpoint_every=1")
    with pytest.raises(RunError) as failed:
        carry_out(run)
    assert failed.value.kind == "diverged"
    found = weights(run)
    assert all(np.isfinite(tensor).all() for tensor in found.values())
    assert newest_step(run) >= 1
