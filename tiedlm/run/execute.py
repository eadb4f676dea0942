"""Carry out one run: open it, train, score, write the result. In this process; one run, one process."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from tiedlm.data.prepare import prepare
from tiedlm.errors import OUTSIDE, ConfigError, Interrupted, Problem, RunError
from tiedlm.forecast.footprint import Footprint
from tiedlm.forecast.memory import Target
from tiedlm.run.build_result import StartHashes, build_result
from tiedlm.run.folder import RunFolder, raw_config
from tiedlm.run.forecast import forecast_memory
from tiedlm.run.interrupt import StopSignal
from tiedlm.run.journal import Journal, ValidationRecord
from tiedlm.run.layout import Run
from tiedlm.run.loggers import Resumed, Title, open_loggers
from tiedlm.run.loop import train
from tiedlm.run.metrics import MetricsFile
from tiedlm.run.micro_batch import micro_batch_size
from tiedlm.run.progress_writer import ProgressWriter, find_earlier
from tiedlm.run.result import RunFailure, RunResult, SplitResult
from tiedlm.run.rung import RungScore, rung_step
from tiedlm.run.rungs import reach_rung
from tiedlm.run.scores import Scorer
from tiedlm.run.setup import build_trainer, set_up
from tiedlm.talk import SILENT, Talk
from tiedlm.training import checkpoint
from tiedlm.training.memory import is_out_of_memory, reset_peaks


def execute(
    run: Run, *, cache_dir: Path, fresh: bool = False, talk: Talk = SILENT, siblings: Sequence[Run] = ()
) -> RunResult:
    """Bring a run to its end: from the start, from its newest checkpoint, or at once where it is complete.

    `siblings` are the runs that a micro-batch size agreed here must fit too.
    Raises ConfigError where the request is wrong, RunError where the run failed (the reason is stored in its folder),
    Interrupted after SIGINT or SIGTERM, with the state saved. Until training begins there is no state to save, and
    signals act as they always do.
    """
    with _opened(run, fresh, talk) as folder:
        done = folder.result()
        if done is not None:
            return done
        return _Execution(run, folder, cache_dir, talk, siblings).carry_out()


def execute_to(run: Run, share: float, *, cache_dir: Path, talk: Talk = SILENT, siblings: Sequence[Run] = ()) -> None:
    """Bring a run to a rung: train until `share` of its steps is done, and score the validation split there.

    The score is kept in the run's folder, and the state, from which `execute` and later rungs go on. Raises as
    `execute` does.
    """
    with _opened(run, False, talk) as folder:
        if folder.result() is None:
            _Execution(run, folder, cache_dir, talk, siblings).pause_at(share)


@contextmanager
def _opened(run: Run, fresh: bool, talk: Talk) -> Iterator[RunFolder]:
    """The folder of a run, held for this process and found to be that of this run; what fails inside is stored."""
    folder = RunFolder(run.directory)
    if not fresh:
        folder.check_identity(run.config)
    with folder.lock(talk):
        if fresh:
            folder.clear()
        if folder.result() is None:
            folder.check_places()
        with _failure_stored(run, folder):
            yield folder


@contextmanager
def _failure_stored(run: Run, folder: RunFolder) -> Iterator[None]:
    """Store in the run's folder why it failed, and raise that as RunError; a fault of the program passes unchanged."""
    try:
        yield
    except Interrupted:
        raise
    except (RunError, RuntimeError, MemoryError) as error:
        failed = _as_run_error(run, error)
        if failed is None:
            raise
        if failed.kind not in OUTSIDE or folder.config_file.is_file():
            variant, seed = run.config.variant, run.config.seed
            failure = RunFailure(variant=variant, seed=seed, kind=failed.kind, message=str(failed), step=failed.step)
            with suppress(RunError):  # a full disk takes no failure either; the error is raised all the same
                folder.fail(run.config, failure)
        raise failed from error


def _as_run_error(run: Run, error: Exception) -> RunError | None:
    """What ended a run as a RunError; None where it is a fault of the program."""
    if isinstance(error, RunError):
        return error
    way_out = "set a smaller training.micro_batch_size, or evaluation.batch_size if it was being scored"
    message = f"{run.label} does not fit into memory; {way_out}"
    return RunError("out_of_memory", message) if is_out_of_memory(error) else None


class _Execution:
    """A run under way, in its folder."""

    def __init__(self, run: Run, folder: RunFolder, cache_dir: Path, talk: Talk, siblings: Sequence[Run]) -> None:
        self.run, self.folder, self.cache_dir, self.talk = run, folder, cache_dir, talk
        self.earlier = find_earlier(run, siblings)
        self.settings = run.config.training
        talk.now(f"{run.label}: opening the text")
        data = prepare(run.config.data, cache_dir, talk)
        size = micro_batch_size(run, siblings, data.vocab_size, talk)
        talk.now(f"{run.label}: building the model")
        self.setup = set_up(run.config, data)
        self.start = StartHashes.of(self.setup.model)
        self.trainer = build_trainer(self.setup, size)
        self.stop = StopSignal(run.label)
        self.scorer = Scorer(self.setup, self.trainer, folder, self.stop, talk)
        self.metrics = MetricsFile(folder.metrics_file)
        folder.check_data(data.record())
        folder.claim(run.config)  # last: a request that cannot be carried out claims nothing

    def carry_out(self) -> RunResult:
        """Train to the last step, score every split, write the result."""
        with self.stop, self._open_journal(self._begin()) as journal:
            self._train(journal)
            self.talk.now(f"{self.run.label}: scoring")
            splits = self.scorer.score_all()
            self.talk.now(f"{self.run.label}: writing the result")
            journal.add(self._final_validation(splits["validation"]))
            result = self._result(splits)
            self.folder.finish(result)
            if self.run.config.is_tuning_run:  # a grid of large models would fill a disk, and nobody uses its weights
                self.folder.drop_checkpoints()
            return result

    def _result(self, splits: dict[str, SplitResult]) -> RunResult:
        course = self.metrics.curve(), self.metrics.update_ratios()
        return build_result(self.setup, self.trainer, self.start, splits, *course, self._forecast_memory())

    def pause_at(self, share: float) -> None:
        """Train until a share of the steps is done, score the validation split, write the score down."""
        step = rung_step(share, self.trainer.num_steps)
        if step >= self.trainer.num_steps:
            message = f"a run of {self.trainer.num_steps:,} steps has no step to be judged at before its last one"
            raise ConfigError(Problem("tune.min_fraction", message))
        with self.stop, self._open_journal(self._begin()) as journal:
            if self.trainer.progress.step > step:
                message = f"{self.folder.path} is beyond step {step:,}, without a score there; --fresh starts it again"
                raise RunError("corrupt", message)
            self._train(journal, until=step)
            scored = self.metrics.validation_at(step)  # known where this step is one of `evaluate_every`
            if scored is None:
                self.talk.now(f"{self.run.label}: scoring after step {step:,}")
                scored = self.scorer.validate(self.talk)
                journal.add(scored)
            score = RungScore(step=step, share=share, nll=scored.nll, tokens=scored.num_tokens)
            reach_rung(self.folder, self.run.config, score)

    def _begin(self) -> Resumed:
        resumed = self._resume()
        self.folder.keep_data(self.setup.data)  # last: the checkpoint of a run begun without it tells another text
        return resumed

    def _resume(self) -> Resumed:
        """Restore the newest checkpoint, if there is one, and cut metrics.jsonl to its step."""
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
        self.trainer.restore(snapshot)
        progress = self.trainer.progress
        resumed = replace(resumed, tokens=progress.tokens_seen, seconds=progress.seconds)
        checkpoint.rotate(self.folder.checkpoints, kept, self.settings.keep_last)  # a kill may have broken that off
        self.talk.say(f"{self.run.label}: goes on after step {snapshot.step} of {self.trainer.num_steps}")
        return resumed

    def _open_journal(self, resumed: Resumed) -> Journal:
        config = self.run.config
        title = Title(config.name, config.tuning_of or config.variant, config.label, raw_config(config))
        loggers = open_loggers(self.settings.loggers, self.folder.path, title, resumed)
        return Journal([self.metrics, *loggers])

    def _train(self, journal: Journal, until: int | None = None) -> None:
        trainer = self.trainer
        reset_peaks(self.setup.machine.device)
        if self.setup.machine.compile:
            self.talk.now(f"{self.run.label}: compiling the model")
            trainer.training_step.compile()
        with (
            self.talk.progress(self.run.label, until or trainer.num_steps) as show,
            journal.also(shown := ProgressWriter(show, trainer, self.talk, self.run.label, self.earlier)),
        ):
            validate = partial(self.scorer.validate, talk=shown.validating())
            train(trainer, self.settings, journal, self.stop, validate=validate, save=self._save, until=until)

    def _save(self, validation: ValidationRecord | None) -> None:
        snapshot = replace(
            self.trainer.snapshot(),
            tokens_sha256=self.setup.data.tokens_sha256,
            validation=validation.nats_per_token if validation else None,
        )
        checkpoint.save(self.folder.checkpoints, snapshot, self.settings.keep_last)

    def _final_validation(self, scored: SplitResult) -> ValidationRecord:
        progress = self.trainer.progress
        return ValidationRecord(
            progress.step, progress.tokens_seen, progress.seconds, scored.nll, scored.tokens, is_final=True
        )

    def _forecast_memory(self) -> Footprint:
        """What the steps should have needed. It takes memory, so the peak of training must have been read before."""
        machine = self.setup.machine
        target = Target(machine.device.type, machine.precision, self.trainer.micro_batch_size)
        return forecast_memory(self.run.config, target, self.setup.data.vocab_size, self.cache_dir)
