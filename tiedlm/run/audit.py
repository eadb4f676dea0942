"""`tiedlm audit`: checkpoints from elsewhere, those of runs, and models on a hub. Free of torch."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from tiedlm.checkpoints.audit import Audit, audit_files, audit_path, compare_pair
from tiedlm.checkpoints.byte_source import LocalFile
from tiedlm.checkpoints.checkpoint_files import kind_of_file
from tiedlm.checkpoints.findings import Finding
from tiedlm.checkpoints.matrix_names import StoredPair, find_pair
from tiedlm.checkpoints.model_id import is_id
from tiedlm.checkpoints.refusal import unreadable
from tiedlm.checkpoints.safetensors_header import read_header
from tiedlm.checkpoints.verdict import Verdict
from tiedlm.errors import ConfigError, Problem, RunError
from tiedlm.paths import reason, user_path
from tiedlm.talk import Talk

_WEIGHTS = "model.safetensors"
_NOTES = {
    "projected": "a map (D, D) stands between the matrix and the scores",
    "factorized": "the tables are (V, E), and maps lead from E to D and back",
    "soft": "a penalty draws the two matrices together",
    "partial_vocabulary": "the output embedding has rows of its own for some tokens and shares the others",
    "partial_dimensions": "the output embedding has some dimensions of its own and shares the others",
    "progressive": "both matrices are stored at every stage; which of them are in use is in its buffer saved_stage",
}


@dataclass(frozen=True)
class Audited:
    """The audits of all paths, and what kept others from being read."""

    audits: tuple[Audit, ...]
    errors: tuple[ConfigError, ...] = ()

    @property
    def has_findings(self) -> bool:
        """Whether anything was found of any of them."""
        return any(audit.findings for audit in self.audits)

    def document(self) -> dict[str, Any]:
        """As `tiedlm audit --json` prints it."""
        models = [audit.document() for audit in self.audits]
        return {"models": models, "errors": [str(error) for error in self.errors]}


def audit_all(paths: Sequence[str], *, sample: int | None, revision: str | None, talk: Talk) -> Audited:
    """Audit paths and ids of a hub, all that can be read; raises ConfigError where none can."""
    audits: list[Audit] = []
    errors: list[ConfigError] = []
    for path in paths:
        for audit in _audits(path, sample, revision, talk):
            try:
                audits.append(audit())
            except ConfigError as error:
                errors.append(error)
            except RunError as error:  # a damaged file of a run, named in the message
                errors.append(ConfigError(Problem("", str(error))))
    if not audits:
        raise errors[0] if len(errors) == 1 else _together(errors)
    return Audited(tuple(audits), tuple(errors))


def _together(errors: Sequence[ConfigError]) -> ConfigError:
    problems = [replace(each, key=error.source or each.key) for error in errors for each in error.problems]
    return ConfigError(*problems)


def _audits(given: str, sample: int | None, revision: str | None, talk: Talk) -> Sequence[Callable[[], Audit]]:
    """What is to be audited at a path, each by itself: of an experiment every run."""
    path = user_path(given)
    if not path.exists() and is_id(given) and kind_of_file(given) is None:
        return [partial(_audit_id, given, sample, revision, talk)]
    if path.is_dir() and not (path / "config.json").exists():
        runs = [partial(audit_run, run, weights, sample) for run, weights in _runs_in(path)]
        if runs:
            return runs
    return [partial(audit_path, path, sample)]


def _audit_id(given: str, sample: int | None, revision: str | None, talk: Talk) -> Audit:
    from tiedlm.checkpoints.hub_model import Transferred, open_model

    transferred = Transferred()
    found = audit_files(open_model(given, revision, transferred, talk), sample)
    return replace(found, path=given, transferred_bytes=transferred.num_bytes)


def _runs_in(path: Path) -> Iterator[tuple[Path, Path | None]]:
    """Each run that a path leads to (a run, a checkpoint of one, or an experiment) with the folder of its weights.

    None means the newest.
    """
    from tiedlm.run.find import holds_runs
    from tiedlm.run.folder import RunFolder, run_folders
    from tiedlm.run.layout import run_dir_of_checkpoint

    if (path / "progress.json").is_file() and (path / _WEIGHTS).is_file():
        run = run_dir_of_checkpoint(path.absolute())
        if RunFolder(run).config_file.is_file():
            yield run, path
    elif holds_runs(path):
        is_run = RunFolder(path).config_file.is_file()
        for folder in [RunFolder(path)] if is_run else run_folders(path):
            yield folder.path, None


def _newest(checkpoints: Path, run: Path) -> Path:
    try:
        found = [*checkpoints.iterdir()] if checkpoints.is_dir() else []
    except OSError as error:
        raise unreadable(checkpoints, reason(error, checkpoints)) from None
    numbered = {int(path.name.removeprefix("step-")): path for path in found if _is_step(path)}
    if not numbered:
        raise unreadable(run, "keeps no checkpoint")
    return numbered[max(numbered)]


def _is_step(path: Path) -> bool:
    return path.name.startswith("step-") and path.name.removeprefix("step-").isdecimal()


def audit_run(run: Path, weights: Path | None = None, sample: int | None = None) -> Audit:
    """Audit a checkpoint of a run of ours, by default its newest; its config says how it is tied.

    Raises ConfigError, and RunError where a file of the run is damaged.
    """
    from tiedlm.run.folder import RunFolder

    folder = RunFolder(run)
    weights = weights or _newest(folder.checkpoints, run)
    try:
        tying = folder.made_with().model.tying.type
    except OSError as error:
        raise unreadable(error.filename or run, reason(error, run)) from None
    pair = find_pair(read_header(LocalFile(weights / _WEIGHTS), f"{weights.name}/{_WEIGHTS}"))
    comparison = compare_pair(pair, sample)
    flag = {"tied": True, "untied": False}.get(tying)
    findings = []
    if flag is not None and flag is (pair.output is not None):
        message = f"Its config says {tying}, and {'two matrices are' if flag else 'one matrix is'} stored."
        findings.append(Finding("conflict", message, "Take the config that the run was made with."))
    if comparison is not None and comparison.may_be_equal and tying != "progressive":
        message = "Two matrices are stored with equal values: it was not trained since it began with a copy."
        findings.append(Finding("untied_equal", message, "Train it, or make it tied."))
    notes = (f"{tying}: {_NOTES[tying]}.",) if tying in _NOTES else ()
    verdict = _verdict(pair, {each.kind for each in findings})
    return Audit(str(run), verdict, flag, f"tying.type: {tying}", pair, comparison, tuple(findings), notes=notes)


def _verdict(pair: StoredPair, kinds: set[str]) -> Verdict:
    if pair.input is None:
        return "unknown"
    if "conflict" in kinds:
        return "conflict"
    if pair.output is None:
        return "tied"
    return "untied_equal" if "untied_equal" in kinds else "untied"
