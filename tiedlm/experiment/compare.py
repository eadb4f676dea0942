"""Carry out what an experiment lacks and compare what is there. Free of torch."""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from tiedlm.config import ConfigError, Problem, first_difference
from tiedlm.errors import OUTSIDE, RunError
from tiedlm.experiment.carry_out import carry_out
from tiedlm.experiment.comparison import (
    COMPARISON_FILE,
    Comparison,
    default_primary,
    load_comparison,
    store_comparison,
    summarize,
)
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.known_counts import KnownCounts
from tiedlm.experiment.match import sizes_in_words
from tiedlm.experiment.plan import Run, plan
from tiedlm.experiment.significance import SMALLEST_WORTHWHILE
from tiedlm.experiment.store import RunFolder, agreement_file, run_folders
from tiedlm.experiment.whole import whole
from tiedlm.talk import SILENT, Talk

Show = Callable[[Comparison], None]


def compare(
    experiment: Experiment,
    *,
    runs_dir: Path,
    cache_dir: Path,
    fresh: bool = False,
    talk: Talk = SILENT,
    show: Show = lambda comparison: None,
) -> Comparison:
    """Carry out the runs that are lacking, seed by seed, and compare all of them.

    `show` is called after each seed that leaves others to come. A run that fails is listed and the others go on; one
    that diverged is not tried again unless `fresh`. Raises ConfigError before anything trains where a run on disk is
    not the one asked for, Interrupted with the state saved, RunError where no run could go on.
    """
    experiment = whole(experiment, runs_dir, cache_dir, talk)
    runs = plan(experiment, runs_dir)
    if not fresh:
        for run in runs:
            RunFolder(run.directory).check_identity(run.config)
    else:
        agreement_file(_home(runs)).unlink(missing_ok=True)  # of a model and a batch that may have been others
    lacking = [run for run in runs if fresh or _lacks(run)]
    if experiment.match is not None and lacking:
        for line in sizes_in_words(experiment, KnownCounts(_home(runs), cache_dir, talk)):
            talk.say(line)
    for number, run in enumerate(lacking, start=1):
        prefix = f"[{number}/{len(lacking)}] " if len(lacking) > 1 else ""
        siblings = [other for other in runs if other.config.seed == run.config.seed and other != run]
        try:
            carry_out(run, siblings, cache_dir=cache_dir, fresh=fresh, talk=talk, prefix=prefix)
        except RunError as error:
            if error.kind in ("interrupted", *OUTSIDE):
                raise
            talk.say(f"{prefix}{run.label} failed: {error}")
        to_come = lacking[number:]
        if to_come and to_come[0].config.seed != run.config.seed:
            show(_compared(experiment, [run for run in runs if run not in to_come]))
    return _compared(experiment, runs)


def lacking_runs(experiment: Experiment, runs_dir: Path) -> list[Run]:
    """The runs that `compare` would carry out."""
    return [run for run in plan(experiment, runs_dir) if _lacks(run)]


def gather(
    paths: Sequence[Path],
    baseline: str | None = None,
    primary: str | None = None,
    smallest_worthwhile: float | None = None,
) -> Comparison:
    """Compare the finished runs in some folders, each a run's or an experiment's; nothing is trained.

    The baseline is `untied` where there is one, else the first variant. What `primary` and `smallest_worthwhile` do not
    say is taken from the comparison stored in the folder, if one is. Raises ConfigError where nothing is finished.
    """
    folders = list({folder.path.resolve(): folder for path in paths for folder in _runs_in(path)}.values())
    if not folders:
        source = ", ".join(map(str, paths))
        raise ConfigError(Problem("", "no run is there, neither finished nor begun"), source=source)
    home = paths[0] if len(paths) == 1 and not RunFolder(paths[0]).config_file.is_file() else None
    stored = _stored(home)
    variants = list(dict.fromkeys(folder.path.parent.name for folder in folders))
    if stored is not None:  # in the order in which they were shown before
        shown = [variant.name for variant in stored.variants]
        variants.sort(key=lambda name: shown.index(name) if name in shown else len(shown))
    chosen = baseline or ("untied" if "untied" in variants else variants[0])
    for option, name in (("--baseline", chosen), ("--primary", primary)):
        if name is not None and name not in variants:
            raise ConfigError(Problem(option, f"{name!r} is not one of {', '.join(variants)}"))
    if primary == chosen:
        raise ConfigError(Problem("--primary", f"{primary!r} is the baseline: name another variant"))
    if smallest_worthwhile is not None and smallest_worthwhile <= 0:
        raise ConfigError(Problem("--smallest-worthwhile", f"{smallest_worthwhile:g}: must be above 0"))
    _refuse_mixtures(folders)
    names = list(dict.fromkeys(folder.path.parent.parent.name for folder in folders))
    if stored is not None:
        kept = stored.primary if stored.primary in variants and stored.primary != chosen else None
        primary = primary or kept
        smallest_worthwhile = smallest_worthwhile or stored.smallest_worthwhile
    question = Question(
        " + ".join(names), chosen, tuple(variants), None, primary, smallest_worthwhile or SMALLEST_WORTHWHILE
    )
    comparison = _stored_or_made(folders, question, home)
    if not comparison.variants:
        raise ConfigError(Problem("", "no run there is finished yet"), source=str(paths[0]))
    return comparison


def _refuse_mixtures(folders: Sequence[RunFolder]) -> None:
    """Raise ConfigError where two runs of one variant differ in more than their seed."""
    first: dict[str, RunFolder] = {}
    for folder in folders:
        other = first.setdefault(folder.path.parent.name, folder)
        same = {"name": "any", "seed": 0}
        difference = first_difference(other.config().model_copy(update=same), folder.config().model_copy(update=same))
        if difference:
            key, one, another = difference
            message = f"{other.path} has {one!r}, {folder.path} has {another!r}: not seeds of one variant"
            raise ConfigError(Problem(key, message))


def _runs_in(path: Path) -> list[RunFolder]:
    folder = RunFolder(path)
    return [folder] if folder.config_file.is_file() else run_folders(path)


def _lacks(run: Run) -> bool:
    folder = RunFolder(run.directory)
    if folder.result() is not None:
        return False
    failure = folder.failure()
    return failure is None or failure.kind != "diverged"


def _compared(experiment: Experiment, runs: Sequence[Run]) -> Comparison:
    question = Question(
        experiment.name,
        experiment.baseline,
        tuple(experiment.variants),
        dict.fromkeys(experiment.variants, experiment.seeds),
        experiment.primary or default_primary(list(experiment.asked), experiment.baseline),
        experiment.smallest_worthwhile,
    )
    return _stored_or_made([RunFolder(run.directory) for run in runs], question, _home(runs))


def _home(runs: Sequence[Run]) -> Path:
    """The experiment's folder."""
    return runs[0].directory.parent.parent


@dataclass(frozen=True)
class Question:
    """What is asked of some runs; see `summarize`."""

    name: str
    baseline: str
    order: tuple[str, ...]
    planned: dict[str, tuple[int, ...]] | None
    primary: str | None
    smallest_worthwhile: float


def _stored_or_made(folders: Sequence[RunFolder], question: Question, home: Path | None) -> Comparison:
    """The comparison stored in `home` where it answers the same question from the very same files, else a new one."""
    sources = _sources(folders, question)
    stored = _stored(home)
    if stored is not None and stored.sources == sources:
        return stored
    found = [(folder, result) for folder in folders if (result := folder.result())]
    failures = [failure for folder in folders if (failure := folder.failure())]
    folder_of = {(result.variant, result.seed): folder for folder, result in found}
    made = summarize(
        [result for _, result in found],
        failures,
        question.name,
        question.baseline,
        question.order,
        question.planned,
        primary=question.primary,
        smallest_worthwhile=question.smallest_worthwhile,
        scores_of=lambda run, split: folder_of[run.variant, run.seed].evaluation_file(split),
    ).model_copy(update={"sources": sources})
    if home is not None and found:
        with suppress(RunError):  # it is as true without being kept, in a folder that cannot be written to
            store_comparison(made, home)
    return made


def _sources(folders: Sequence[RunFolder], question: Question) -> dict[str, str]:
    """SHA-256 of every result and failure, by variant and seed, and of what is asked about them."""
    sources = {"question": hashlib.sha256(json.dumps(asdict(question)).encode()).hexdigest()}
    for folder in folders:
        for file in (folder.result_file, folder.failure_file):
            if file.is_file():
                key = "/".join(file.parts[-3:])
                sources[key] = hashlib.sha256(file.read_bytes()).hexdigest()
    return sources


def _stored(home: Path | None) -> Comparison | None:
    """What lies in `home`; None also where an older version wrote it: it is made anew."""
    if home is None or not (home / COMPARISON_FILE).is_file():
        return None
    try:
        return load_comparison(home)
    except ConfigError:
        return None
