"""Carry out one run: prepare, train, score, write down. In this process; one run, one process."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from tiedlm.data.batches import build_batches
from tiedlm.data.config import Split
from tiedlm.data.prepare import prepare
from tiedlm.errors import OUTSIDE, Interrupted, RunError
from tiedlm.evaluation.frequency import GroupMass
from tiedlm.forecast.memory import Target
from tiedlm.model.parameters import hash_body, hash_input_embedding
from tiedlm.run.folder import RunFolder, raw_config
from tiedlm.run.forecast import foresee
from tiedlm.run.interrupt import StopSignal
from tiedlm.run.layout import Run
from tiedlm.run.loggers import Loggers, Resumed, Title, open_loggers
from tiedlm.run.metrics import Metrics
from tiedlm.run.micro_batch import micro_batch_size
from tiedlm.run.record import describe_run
from tiedlm.run.result import Footprint, RunFailure, RunResult, SplitResult
from tiedlm.run.scores import describe_types, mass_by_bin, save_scores, split_result
from tiedlm.run.setup import Setup, set_up
from tiedlm.talk import SILENT, Talk
from tiedlm.training import checkpoint
from tiedlm.training.memory import is_out_of_memory, reset_peaks
from tiedlm.training.trainer import StepRecord, Training


def execute(
    run: Run, *, cache_dir: Path, fresh: bool = False, talk: Talk = SILENT, siblings: Sequence[Run] = ()
) -> RunResult:
    """Bring a run to its end: from the start, from its newest checkpoint, or at once where it is complete.

    `siblings` are the runs that a micro-batch size agreed here must fit too.
    Raises ConfigError where the request is wrong, RunError where the run failed (the reason is stored in its folder),
    Interrupted after SIGINT or SIGTERM, with the state saved. Until training begins there is no state to save, and
    signals act as they always do.
    """
    folder = RunFolder(run.directory)
    if not fresh:
        folder.check_identity(run.config)
    with folder.lock(talk):
        if fresh:
            folder.clear()
        done = folder.result()
        if done is not None:
            return done
        try:
            return _Execution(run, folder, cache_dir, talk, siblings).carry_out()
        except Interrupted:
            raise
        except (RunError, RuntimeError, MemoryError) as error:
            failed = _in_plain_words(run, error)
            if failed is None:
                raise
            if failed.kind not in OUTSIDE or folder.config_file.is_file():
                variant, seed = run.config.variant, run.config.seed
                failure = RunFailure(
                    variant=variant, seed=seed, kind=failed.kind, message=str(failed), step=failed.step
                )
                with suppress(RunError):  # a full disk takes no failure either; the error itself tells it
                    folder.fail(run.config, failure)
            raise failed from error


def _in_plain_words(run: Run, error: Exception) -> RunError | None:
    """What ended a run as a RunError; None where it is a fault of the program."""
    if isinstance(error, RunError):
        return error
    way_out = "set a smaller training.micro_batch_size, or evaluation.batch_size if it was being scored"
    message = f"{run.label} does not fit into memory; {way_out}"
    return RunError("out_of_memory", message) if is_out_of_memory(error) else None


class _Execution:
    """A run under way."""

    def __init__(self, run: Run, folder: RunFolder, cache_dir: Path, talk: Talk, siblings: Sequence[Run]) -> None:
        self.run, self.folder, self.cache_dir, self.talk = run, folder, cache_dir, talk
        self.settings = run.config.training
        self.stop = StopSignal()
        self.metrics = Metrics(folder.metrics_file)
        size = micro_batch_size(run, siblings, prepare(run.config.data, cache_dir, talk).vocab_size, talk)
        self.setup: Setup = set_up(run.config, cache_dir, talk)
        self.start = {"body": hash_body(self.setup.model), "input_embedding": hash_input_embedding(self.setup.model)}
        self.training = self._training(size)
        folder.claim(run.config)  # last: a request that cannot be carried out claims nothing

    def _training(self, micro_batch_size: int) -> Training:
        config = self.run.config
        ids = self.setup.data.split("train").ids
        sizes = config.data.seq_len, self.settings.batch_size
        batches = build_batches(ids, *sizes, config.seed, contiguous=config.model.carries_state)
        return Training(
            self.setup.model,
            batches,
            self.settings,
            self.setup.machine,
            num_steps=self.settings.num_steps(config.data.seq_len, batches.num_windows),
            micro_batch_size=micro_batch_size,
            seed=config.seed,
        )

    def carry_out(self) -> RunResult:
        """Train what is left to train, score every split, write the result."""
        with self.stop, self._open_loggers(self._resume()) as loggers:
            reset_peaks(self.setup.machine.device)
            if self.setup.machine.compile:
                self.training.training_step.compile()
            self._train(loggers)
            splits = self._score_splits()
            loggers.add(_final_line(self.training, splits["validation"]))
            curve = self.metrics.validations()
            result = describe_run(self.setup, self.training, self.start, splits, curve, self._predict())
            self.folder.finish(result)
            if self.run.config.is_trial:  # a grid of large models would fill a disk, and nobody asks for its weights
                self.folder.drop_checkpoints()
            return result

    def _resume(self) -> Resumed:
        snapshot = checkpoint.load_newest(self.folder.checkpoints, self.talk)
        kept = snapshot.step if snapshot else 0
        resumed = Resumed(kept, self.metrics.cut(kept))
        if resumed.written < kept:
            self.talk.say(
                f"{self.run.label}: {self.metrics.path} tells of the first {resumed.written} of {kept} steps alone; "
                f"what it told of the others is lost, and in no curve"
            )
        if snapshot is None:
            return resumed
        self.setup.check_tokens(snapshot)
        self.training.restore(snapshot)
        checkpoint.rotate(self.folder.checkpoints, kept, self.settings.keep_last)  # broken off, it may be, by a kill
        self.talk.say(f"{self.run.label}: goes on after step {snapshot.step} of {self.training.num_steps}")
        return resumed

    def _open_loggers(self, resumed: Resumed) -> Loggers:
        config = self.run.config
        title = Title(config.name, config.trial_of or config.variant, config.label, raw_config(config))
        return open_loggers(self.settings.loggers, self.folder.path, title, resumed)

    def _train(self, loggers: Loggers) -> None:
        training, settings = self.training, self.settings
        with self.talk.progress(self.run.label, training.num_steps) as update:
            while not training.done:
                record = training.advance()
                self._note(_line(record), loggers)
                update(record.step, _words(record, training))
                validation = None
                if _due(record.step, settings.evaluate_every) and not training.done:
                    validation = self._validate(record)
                    self._note(validation, loggers)
                if _due(record.step, settings.checkpoint_every) or training.done or self.stop.received:
                    loggers.flush()
                    self._save(validation)
                if self.stop.received and not training.done:
                    message = f"{self.run.label}: stopped after step {record.step}, state saved; run it again to go on"
                    raise Interrupted(self.stop.received, message)

    def _note(self, line: Mapping[str, float], loggers: Loggers) -> None:
        self.metrics.add(line)
        loggers.add(line)

    def _save(self, validation: Mapping[str, float] | None) -> None:
        score = validation["validation_nll"] / validation["validation_tokens"] if validation else None
        tokens = self.setup.data.tokens_sha256
        snapshot = replace(self.training.snapshot(), tokens_sha256=tokens, validation=score)
        checkpoint.save(self.folder.checkpoints, snapshot, self.settings.keep_last)

    def _predict(self) -> Footprint:
        """What the steps should have needed; once the peak has been read, which this would raise."""
        machine = self.setup.machine
        target = Target(machine.device.type, machine.precision, self.training.micro_batch_size)
        return foresee(self.run.config, target, self.setup.data.vocab_size, self.cache_dir)

    def _validate(self, record: StepRecord) -> dict[str, float]:
        nll = self._score("validation", SILENT)
        total = float(nll.sum(dtype=np.float64))
        return {
            "step": record.step,
            "tokens": record.tokens,
            "seconds": round(record.seconds, 4),
            "validation_nll": total,
            "validation_tokens": len(nll),
        }

    def _score_splits(self) -> dict[str, SplitResult]:
        """Score every split, of the train split as much as validation holds. The test split is read here alone.

        A trial is scored on validation and on nothing else: what is chosen by it must not have seen the test split.
        """
        splits: dict[str, SplitResult] = {}
        types = describe_types(self.setup, self.training)
        types.save(self.folder.vocabulary_file)
        sample = min(self.setup.data.split("train").num_tokens, self.setup.data.split("validation").num_tokens)
        every: dict[Split, int | None] = {"train": sample, "validation": None, "test": None}
        lengths: dict[Split, int | None] = {"validation": None} if self.run.config.is_trial else every
        for name, length in lengths.items():
            tokens = self.setup.data.split(name)
            mass = mass_by_bin(types, tokens) if length is None else None
            nll = self._score(name, self.talk, length, mass, self._stop_if_asked)
            save_scores(self.folder.evaluation_file(name), tokens, nll, mass)
            splits[name] = split_result(self.setup, name, nll)
        return splits

    def _stop_if_asked(self) -> None:
        if self.stop.received:
            message = f"{self.run.label}: stopped while scoring, the trained state is saved; run it again to go on"
            raise Interrupted(self.stop.received, message)

    def _score(
        self,
        split: Split,
        talk: Talk,
        length: int | None = None,
        mass: GroupMass | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> np.ndarray:
        """Raises RunError("diverged") where the last update made a model whose scores are not finite."""
        nll = self.setup.score(split, talk, length=length, mass=mass, check=check)
        if not np.isfinite(nll).all():
            step = self.training.progress.step
            raise RunError("diverged", f"after step {step} the nll of the {split} split is not finite", step)
        return nll


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


def _final_line(training: Training, validation: SplitResult) -> dict[str, float]:
    """The validation of the last step, which is no line of the metrics: the result has it."""
    step = training.progress.step
    return {"step": step, "validation_nll": validation.nll, "validation_tokens": validation.tokens}


def _words(record: StepRecord, training: Training) -> str:
    progress = training.progress
    speed = f"{progress.steady_tokens / progress.steady_seconds:,.0f} tokens/s" if progress.steady_seconds else ""
    return f"loss {record.loss:.3f}  lr {record.learning_rate:.1e}  {speed}"
