"""The comparison of an experiment with parts: as it was stored, or made anew from its runs. Free of torch."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tiedlm.comparison.answer import Outcome, answer, read_outcomes
from tiedlm.comparison.comparison import Comparison, Pending, store_comparison
from tiedlm.comparison.parts.across import left_out
from tiedlm.comparison.parts.budgets import measure_budgets
from tiedlm.comparison.parts.document import Budgets, PartComparison, PartsComparison, Recipes
from tiedlm.comparison.parts.question import PartRuns, PartsQuestion, digest
from tiedlm.comparison.parts.recipes import measure_recipes
from tiedlm.comparison.parts.statements import budget_statements, recipe_statements
from tiedlm.comparison.parts.stored import stored_parts_comparison
from tiedlm.comparison.verdict import Conditions, conditions_in_words, failures_in_words
from tiedlm.errors import RunError
from tiedlm.run.folder import parse_record
from tiedlm.run.result import RunFailure, RunResult

_NOTHING = "No run has finished: there is nothing to compare."


@dataclass(frozen=True)
class FinishedPart:
    """A part with its own comparison, and the outcomes of all its runs, also of those that only judge."""

    part: PartRuns
    comparison: Comparison
    outcomes: Sequence[Outcome]

    def results(self) -> list[RunResult]:
        """Of all runs that have finished."""
        return [
            parse_record(outcome.content, outcome.file, RunResult)
            for outcome in self.outcomes
            if outcome.file == outcome.folder.result_file
        ]

    def failures(self) -> Iterator[RunFailure]:
        """Of its own comparison, then of the runs that only judge."""
        yield from self.comparison.failures
        judging = {folder.failure_file for folder in self.part.judging.values() if not folder.result_file.is_file()}
        for outcome in self.outcomes:
            if outcome.file in judging:
                yield parse_record(outcome.content, outcome.file, RunFailure)

    def pending(self) -> Iterator[Pending]:
        """The same of what has neither finished nor failed."""
        yield from self.comparison.pending
        ended = {outcome.folder.path for outcome in self.outcomes}
        for (variant, seed), folder in self.part.judging.items():
            if folder.path not in ended:
                yield Pending(variant=variant, seed=seed)

    def document(self) -> PartComparison:
        """The part as it stands in the joined comparison."""
        return PartComparison(
            part=self.part.name,
            settings=dict(self.part.settings),
            budget=self.part.budget,
            comparison=self.comparison if self.comparison.variants else None,
        )


def answer_parts(parts: Sequence[PartRuns], question: PartsQuestion, home: Path | None) -> PartsComparison:
    """The comparison stored in `home`, the experiment's folder, where it is of the very same files, else a new one.

    Each part's own comparison is answered and stored in its folder, of the runs of the experiment's seeds alone. Raises
    RunError where a result cannot be read, ConfigError where runs are not alike.
    """
    outcomes = {part.name: read_outcomes([*part.folders, *part.judging.values()]) for part in parts}
    sources = {"question": digest(question, parts), **sources_of_parts(outcomes)}
    stored = stored_parts_comparison(home)
    if stored is not None and stored.sources == sources and _has_every_analysis(stored):
        return stored
    finished = [
        FinishedPart(part, answer(part.folders, part.question, part.home), outcomes[part.name]) for part in parts
    ]
    made = join(finished, question).model_copy(update={"sources": sources})
    if home is not None and any(part.comparison for part in made.parts):
        with suppress(RunError):  # it is as true without being kept, in a folder that cannot be written to
            store_comparison(made, home)
    return made


def sources_of_parts(outcomes: Mapping[str, Sequence[Outcome]]) -> dict[str, str]:
    """SHA-256 of every result and failure, as "default/tied/seed-0/result.json"."""
    return {f"{part}/{outcome.key}": outcome.sha256 for part, each in outcomes.items() for outcome in each}


def _has_every_analysis(stored: PartsComparison) -> bool:
    return all(part.comparison is None or part.comparison.has_every_analysis for part in stored.parts)


def join(finished: Sequence[FinishedPart], question: PartsQuestion) -> PartsComparison:
    """What the parts say together."""
    results = {each.part.name: each.results() for each in finished}
    recipes = _recipes(finished, question, results) if question.kind == "recipes" else None
    budgets = _budgets(finished) if question.kind == "budgets" else None
    failures = [(each.part.name, failure) for each in finished for failure in each.failures()]
    pending = [(each.part.name, run) for each in finished for run in each.pending()]
    conditions = _conditions(finished, question, results)
    said = _statements(recipes, budgets, question, len(failures)) if conditions else []
    return PartsComparison(
        experiment=question.name,
        baseline=question.baseline,
        primary=question.primary,
        smallest_worthwhile=question.smallest_worthwhile,
        seeds=list(question.seeds),
        verdict=f"{conditions_in_words(conditions, not pending)}: {'; '.join(said)}." if conditions else _NOTHING,
        statements=said,
        conditions=conditions,
        recipes=recipes,
        budgets=budgets,
        parts=[each.document() for each in finished],
        failures=[failure for _, failure in failures],
        part_of_failures=[part for part, _ in failures],
        pending=[run for _, run in pending],
        part_of_pending=[part for part, _ in pending],
        notes=list(_notes(finished)),
    )


def _notes(finished: Sequence[FinishedPart]) -> Iterator[str]:
    """Those of each part, with its name, and what is left out of the figures over all of them."""
    yield from (f"{each.part.name}: {note}" for each in finished for note in each.comparison.notes)
    yield from left_out({each.part.name: each.comparison for each in finished})


def _recipes(
    finished: Sequence[FinishedPart], question: PartsQuestion, results: Mapping[str, Sequence[RunResult]]
) -> Recipes:
    comparisons = {each.part.name: each.comparison for each in finished}
    settings = {each.part.name: each.part.settings for each in finished}
    return measure_recipes(comparisons, settings, results, question.choosing, question.judging)


def _budgets(finished: Sequence[FinishedPart]) -> Budgets:
    factors = {each.part.name: each.part.budget for each in finished if each.part.budget is not None}
    return measure_budgets({each.part.name: each.comparison for each in finished}, factors)


def _statements(
    recipes: Recipes | None, budgets: Budgets | None, question: PartsQuestion, num_failures: int
) -> list[str]:
    baseline, size = question.baseline, question.smallest_worthwhile
    of_recipes = recipe_statements(recipes, baseline, size) if recipes else []
    of_budgets = budget_statements(budgets, baseline, size) if budgets else []
    return [*of_recipes, *of_budgets, *failures_in_words(num_failures)]


def _conditions(
    finished: Sequence[FinishedPart], question: PartsQuestion, results: Mapping[str, Sequence[RunResult]]
) -> Conditions | None:
    """Of the runs of the parts' own comparisons; recipes are counted, where one is in words with every verdict."""
    runs = [
        run for each in finished for run in results[each.part.name] if (run.variant, run.seed) not in each.part.judging
    ]
    conditions = Conditions.of(runs)
    if conditions is None or question.kind == "budgets":
        return conditions
    count = len(finished)
    return conditions.model_copy(update={"recipe": f"{count} recipes" if count > 1 else "one recipe"})
