"""Carry out one run: prepare, train, score, write down. In this process; one run, one process."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import torch

from tiedlm.data.batches import Batches
from tiedlm.data.config import Split
from tiedlm.errors import Interrupted, RunError
from tiedlm.experiment.micro_batch import micro_batch_size
from tiedlm.experiment.plan import Run
from tiedlm.experiment.record import describe_run
from tiedlm.experiment.results import RunFailure, RunResult, SplitResult
from tiedlm.experiment.scores import save_scores, split_result
from tiedlm.experiment.setup import Setup, set_up
from tiedlm.experiment.store import RunFolder
from tiedlm.model.parameters import hash_body, hash_input_embedding
from tiedlm.talk import SILENT, Talk
from tiedlm.training import checkpoint
from tiedlm.training.interrupt import StopSignal
from tiedlm.training.loop import StepRecord, Training
from tiedlm.training.memory import read_peaks, reset_peaks


def execute(
    run: Run, *, cache_dir: Path, fresh: bool = False, talk: Talk = SILENT, siblings: Sequence[Run] = ()
) -> RunResult:
    """Bring a run to its end: from the start, from its newest checkpoint, or at once where it is complete.

    `siblings` are the runs that a micro-batch size agreed here must fit too.
    Raises ConfigError where the request is wrong, RunError where the run failed (the reason is stored in its folder),
    Interrupted after SIGINT or SIGTERM, with the state saved.
    """
    folder = RunFolder(run.directory)
    if not fresh:
        folder.check_identity(run.config)
    with folder.lock(), StopSignal() as stop:
        if fresh:
            folder.clear()
        done = folder.result()
        if done is not None:
            return done
        try:
            return _Execution(run, folder, cache_dir, talk, stop, siblings).carry_out()
        except Interrupted:
            raise
        except (RunError, torch.OutOfMemoryError) as error:
            failure = _failure(run, error)
            if folder.config_file.is_file():  # it had begun
                folder.fail(failure)
            raise RunError(failure.kind, failure.message, failure.step) from error


def _failure(run: Run, error: RunError | torch.OutOfMemoryError) -> RunFailure:
    kind, message, step = "out_of_memory", "", None
    if isinstance(error, RunError):
        kind, message, step = error.kind, str(error), error.step
    else:
        message = f"{run.label}: the GPU's memory does not hold it; set a smaller training.micro_batch_size"
    return RunFailure(variant=run.config.variant, seed=run.config.seed, kind=kind, message=message, step=step)


class _Execution:
    """A run under way."""

    def __init__(
        self, run: Run, folder: RunFolder, cache_dir: Path, talk: Talk, stop: StopSignal, siblings: Sequence[Run]
    ) -> None:
        self.run, self.folder, self.talk, self.stop, self.siblings = run, folder, talk, stop, siblings
        self.settings = run.config.training
        self.setup: Setup = set_up(run.config, cache_dir, talk)
        folder.claim(run.config)
        self.start = {"body": hash_body(self.setup.model), "input_embedding": hash_input_embedding(self.setup.model)}
        reset_peaks(self.setup.machine.device)
        self.training = self._training()

    def _training(self) -> Training:
        config = self.run.config
        ids = self.setup.data.split("train").ids
        batches = Batches(ids, config.data.seq_len, self.settings.batch_size, config.seed)
        return Training(
            self.setup.model,
            batches,
            self.settings,
            self.setup.machine,
            num_steps=self.settings.num_steps(config.data.seq_len, batches.steps_per_epoch),
            micro_batch_size=micro_batch_size(self.run, self.siblings, self.setup.data.vocab_size, self.talk),
            seed=config.seed,
        )

    def carry_out(self) -> RunResult:
        """Train what is left to train, score every split, write the result."""
        self._resume()
        if self.setup.machine.compile:
            self.setup.model.compile()
        self._train()
        peaks = read_peaks(self.setup.machine.device)
        splits = self._score_splits()
        result = describe_run(self.setup, self.training, self.start, splits, peaks)
        self.folder.finish(result)
        return result

    def _resume(self) -> None:
        snapshot = checkpoint.load_newest(self.folder.checkpoints, self.talk)
        if snapshot is None:
            self.folder.metrics_file.unlink(missing_ok=True)
            return
        self.training.restore(snapshot)
        self.talk.say(f"{self.run.label}: goes on after step {snapshot.step} of {self.training.num_steps}")
        cut_metrics(self.folder.metrics_file, snapshot.step)

    def _train(self) -> None:
        training, settings = self.training, self.settings
        with ExitStack() as stack:
            metrics = stack.enter_context(self.folder.metrics_file.open("a", encoding="utf-8"))
            update = stack.enter_context(self.talk.progress(self.run.label, training.num_steps))
            while not training.done:
                record = training.advance()
                metrics.write(json.dumps(_line(record)) + "\n")
                update(record.step, _words(record, training))
                if _due(record.step, settings.evaluate_every) and not training.done:
                    metrics.write(json.dumps(self._validate(record)) + "\n")
                if _due(record.step, settings.checkpoint_every) or training.done or self.stop.received:
                    metrics.flush()
                    checkpoint.save(self.folder.checkpoints, training.snapshot(), settings.keep_last)
                if self.stop.received and not training.done:
                    message = f"{self.run.label}: stopped after step {record.step}, state saved; run it again to go on"
                    raise Interrupted(self.stop.received, message)

    def _validate(self, record: StepRecord) -> dict[str, float]:
        nll = self.setup.score("validation")
        total = float(nll.sum(dtype=np.float64))
        return {"step": record.step, "tokens": record.tokens, "validation_nll": total, "validation_tokens": len(nll)}

    def _score_splits(self) -> dict[str, SplitResult]:
        """Score every split, of the train split as much as validation holds. The test split is read here alone."""
        splits: dict[str, SplitResult] = {}
        sample = min(self.setup.data.split("train").num_tokens, self.setup.data.split("validation").num_tokens)
        lengths: dict[Split, int | None] = {"train": sample, "validation": None, "test": None}
        for name, length in lengths.items():
            nll = self.setup.score(name, self.talk, length=length)
            save_scores(self.folder.evaluation_file(name), self.setup.data.split(name), nll)
            splits[name] = split_result(self.setup, name, nll)
            if self.stop.received:
                message = f"{self.run.label}: stopped while scoring, the trained state is saved; run it again to go on"
                raise Interrupted(self.stop.received, message)
        return splits


def _due(step: int, every: int | None) -> bool:
    return every is not None and step % every == 0


def _line(record: StepRecord) -> dict[str, float]:
    return {
        "step": record.step,
        "loss": record.loss,
        "learning_rate": record.learning_rate,
        "gradient_norm": record.gradient_norm,
        "tokens": record.tokens,
        "seconds": round(record.seconds, 4),
    }


def _words(record: StepRecord, training: Training) -> str:
    progress = training.progress
    speed = f"{progress.steady_tokens / progress.steady_seconds:,.0f} tokens/s" if progress.steady_seconds else ""
    return f"loss {record.loss:.3f}  lr {record.learning_rate:.1e}  {speed}"


def cut_metrics(path: Path, last_step: int) -> None:
    """Keep the lines up to `last_step`: what came after it is not in the checkpoint and will come again."""
    if not path.is_file():
        return
    kept = []
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            step = json.loads(line)["step"]
        except (ValueError, KeyError, TypeError):
            break  # a line cut short by a crash; nothing after it can be older
        if step <= last_step:
            kept.append(line)
    path.write_text("".join(f"{line}\n" for line in kept), encoding="utf-8")
