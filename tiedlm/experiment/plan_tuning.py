"""From a search of settings to its trials, which are runs. Pure but for what is stored, and free of torch."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from tiedlm.config.base import ConfigError, Problem, parse
from tiedlm.experiment.candidates import candidate_name
from tiedlm.experiment.config import Experiment
from tiedlm.experiment.grid import laid_over, settings_of
from tiedlm.experiment.search import Candidate, Search
from tiedlm.run.added import Added
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Layout, Run


def plan_tuning(experiment: Experiment, runs_dir: Path) -> list[Run]:
    """Every trial: seeds outermost, then candidates, so that an interrupted search has tried the variants alike."""
    if experiment.search is None:
        return []
    numbers = range(experiment.search.num_candidates)
    return [
        trial
        for seed in experiment.search.seeds
        for number in numbers
        for trial in trials_of_number(experiment.search, number, (seed,), runs_dir)
    ]


def trials_of_number(search: Search, number: int, seeds: tuple[int, ...], runs_dir: Path) -> Iterator[Run]:
    """The trials of each variant's candidate of that number."""
    for seed in seeds:
        for variant, candidates in search.candidates.items():
            yield trial(candidates[number], variant, seed, runs_dir)


def trial(candidate: Candidate, variant: str, seed: int, runs_dir: Path) -> Run:
    """A candidate with one seed, as a run."""
    changes = {"variant": candidate.name, "seed": seed, "added": Added(role="trial", of=variant)}
    return Run(candidate.config.model_copy(update=changes), runs_dir)


def with_stored(experiment: Experiment, runs_dir: Path) -> Experiment:
    """With the proposed candidates that trials on disk were made of in the place of those that stand for them.

    Raises ConfigError where one of them is of no point of the space.
    """
    search = experiment.search
    if search is None or search.adaptive is None:
        return experiment
    layout = experiment.layout(runs_dir)
    for variant in search.candidates:
        for number in range(search.adaptive.num_drawn, search.num_candidates):
            for seed in search.seeds:
                folder = RunFolder(layout.tuning_run_dir(variant, candidate_name(search.method, number), seed))
                if folder.config_file.is_file():
                    search = with_candidate(search, variant, number, _stored_candidate(search, variant, folder))
                    break
    return replace(experiment, search=search)


def is_proposed(search: Search, number: int, variant: str, layout: Layout) -> bool:
    """Whether the candidate of a number is known: it was drawn, or a trial of it is on disk."""
    assert search.adaptive is not None
    if number < search.adaptive.num_drawn:
        return True
    candidate = candidate_name(search.method, number)
    folders = (RunFolder(layout.tuning_run_dir(variant, candidate, seed)) for seed in search.seeds)
    return any(folder.config_file.is_file() for folder in folders)


def with_candidate(search: Search, variant: str, number: int, candidate: Candidate) -> Search:
    """With another candidate of that number."""
    candidates = list(search.candidates[variant])
    candidates[number] = candidate
    return replace(search, candidates={**search.candidates, variant: tuple(candidates)})


def candidate_of(search: Search, variant: str, number: int, point: Mapping[str, Any]) -> Candidate:
    """The candidate of a proposed point; raises ConfigError where it makes no valid run."""
    assert search.adaptive is not None
    config = parse(RunConfig, laid_over(search.adaptive.raws[variant], point))
    return Candidate(candidate_name(search.method, number), settings_of(config, list(point)), config)


def _stored_candidate(search: Search, variant: str, folder: RunFolder) -> Candidate:
    assert search.adaptive is not None
    config, space = folder.config(), search.space(variant)
    settings = settings_of(config, list(space))
    for key, value in settings.items():
        if not space[key].holds(value):
            message = f"{folder.path} was tried with {value!r}, which is not in the space any more"
            raise ConfigError(Problem(key, f"{message}; --fresh starts the search again, another name keeps it"))
    made = parse(RunConfig, laid_over(search.adaptive.raws[variant], settings))
    return Candidate(config.variant, settings, made)
