"""Carry out what an experiment with parts lacks, and join the comparisons of its parts. Free of torch."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tiedlm.comparison.compare import question_of
from tiedlm.comparison.parts.answer import answer_parts
from tiedlm.comparison.parts.choice import choose
from tiedlm.comparison.parts.document import PartsComparison
from tiedlm.comparison.parts.question import PartRuns, PartsQuestion
from tiedlm.config.base import ConfigError, Problem
from tiedlm.experiment.carry_out import check_identity, lacking_runs
from tiedlm.experiment.expand import expand, tune_and_expand
from tiedlm.experiment.parts import Parts, plan_judging, plan_parts
from tiedlm.experiment.series import carry_out_each
from tiedlm.run.folder import RunFolder
from tiedlm.run.layout import Run
from tiedlm.run.result import RunResult
from tiedlm.talk import SILENT, Talk

Show = Callable[[PartsComparison], None]


def compare_parts(
    parts: Parts,
    *,
    runs_dir: Path,
    cache_dir: Path,
    fresh: bool = False,
    talk: Talk = SILENT,
    show: Show = lambda comparison: None,
) -> PartsComparison:
    """Carry out the runs that are lacking, seed by seed, under every recipe or at every budget, and compare all.

    Each part is tuned and expanded by itself. Once the best recipe of each variant is chosen, the runs that judge it
    follow. `show` is called after each seed that leaves others to come. Raises as `compare` does.
    """
    if fresh:
        parts.layout(runs_dir).micro_batch_file.unlink(missing_ok=True)
    ready = {
        part.name: tune_and_expand(part.experiment, runs_dir, cache_dir, fresh=fresh, talk=talk) for part in parts.parts
    }
    parts = parts.with_experiments(ready)
    runs = plan_parts(parts, runs_dir)
    lacking = lacking_runs(runs, fresh)
    num_judging = len(parts.first.variants) * len(parts.judging_seeds) if parts.has_runs_to_judge else 0
    for run, to_come in carry_out_each(runs, lacking, cache_dir=cache_dir, fresh=fresh, talk=talk, later=num_judging):
        if to_come and to_come[0].config.seed != run.config.seed:
            show(_answered(parts, [each for each in runs if each not in to_come], [], runs_dir))
    judging = _judging_runs(parts, runs, runs_dir)
    lacking = lacking_runs(judging, fresh)
    if lacking:
        talk.say(f"the best recipe of each variant is chosen: {len(lacking)} runs judge them")
    for _ in carry_out_each(judging, lacking, cache_dir=cache_dir, fresh=fresh, talk=talk, what="judging "):
        pass
    return _answered(parts, runs, judging, runs_dir)


def compare_finished_parts(parts: Parts, *, runs_dir: Path, cache_dir: Path) -> PartsComparison:
    """Compare what is finished of all parts, without training; raises ConfigError as `compare_finished` does."""
    parts = parts.with_experiments({part.name: expand(part.experiment, runs_dir, cache_dir) for part in parts.parts})
    if any(part.experiment.waits_for_tuning for part in parts.parts):
        raise ConfigError(Problem("tune", "the tuning runs come first, and they are not all there"))
    runs = plan_parts(parts, runs_dir)
    check_identity(runs)
    judging = _judging_runs(parts, runs, runs_dir)
    check_identity(judging)
    compared = _answered(parts, runs, judging, runs_dir)
    if not any(part.comparison for part in compared.parts):
        raise ConfigError(Problem("", "no run of this experiment is finished yet"), source=str(runs_dir))
    return compared


def _judging_runs(parts: Parts, runs: Sequence[Run], runs_dir: Path) -> list[Run]:
    """The runs beside `runs` that judge the best recipe of each variant whose recipe can be chosen already."""
    if not parts.has_runs_to_judge:
        return []
    results = {part.name: _results(run for run in runs if run.config.part == part.name) for part in parts.parts}
    choices = {variant: choose(results, variant, parts.choosing_seeds).recipe for variant in parts.first.variants}
    best = {variant: recipe for variant, recipe in choices.items() if recipe is not None}
    return [run for run in plan_judging(parts, best, runs_dir) if run not in runs]


def _results(runs: Iterable[Run]) -> list[RunResult]:
    """Of those that have finished."""
    return [result for run in runs if (result := RunFolder(run.directory).result()) is not None]


def _answered(parts: Parts, runs: Sequence[Run], judging: Sequence[Run], runs_dir: Path) -> PartsComparison:
    """The comparison of what is finished of `runs`, those of the parts' seeds, and of those that only judge."""
    first = question_of(parts.first)
    question = PartsQuestion(
        name=parts.name,
        kind="recipes" if parts.are_recipes else "budgets",
        baseline=first.baseline,
        seeds=parts.first.seeds,
        primary=first.primary,
        smallest_worthwhile=first.smallest_worthwhile,
        choosing=parts.choosing_seeds,
        judging=parts.judging_seeds,
    )
    asked = [
        PartRuns(
            name=part.name,
            home=part.experiment.layout(runs_dir).experiment_dir,
            question=question_of(part.experiment),
            folders=[RunFolder(run.directory) for run in runs if run.config.part == part.name],
            settings=part.settings,
            judging={
                (run.config.variant, run.config.seed): RunFolder(run.directory)
                for run in judging
                if run.config.part == part.name
            },
            budget=part.budget,
        )
        for part in parts.parts
    ]
    return answer_parts(asked, question, parts.layout(runs_dir).experiment_dir)
