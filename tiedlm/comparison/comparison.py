"""Finished runs side by side: the document that is stored, printed and read by others. Free of torch."""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from pydantic import ValidationError, create_model

from tiedlm.comparison.analyses.breakdown import break_down
from tiedlm.comparison.analyses.budget import Budget, weigh
from tiedlm.comparison.analyses.every import ANALYSES
from tiedlm.comparison.analyses.noise_floor import measure_noise
from tiedlm.comparison.analyses.tokens_to_reach import tokens_to_reach
from tiedlm.comparison.contrast import Difference, contrasts
from tiedlm.comparison.documents import ScoresOf
from tiedlm.comparison.judgement import judge
from tiedlm.comparison.summary import VariantSummary, summarize_variant
from tiedlm.comparison.verdict import Conditions, conditions_in_words, statements
from tiedlm.config.base import Config, ConfigError, Problem
from tiedlm.evaluation.measures import SMALLEST_WORTHWHILE
from tiedlm.experiment.tuning import Tuning
from tiedlm.files import write_atomic
from tiedlm.run.result import Corpus, RunFailure, RunResult

COMPARISON_FILE = "comparison.json"
EDITION = 8
"""Counts what `summarize` makes of the same runs: what an earlier edition stored is made anew."""
Schema = TypeVar("Schema", bound=Config)
_NOTHING = "No run has finished: there is nothing to compare."


class Pending(Config):
    """A planned run that has neither a result nor a failure yet."""

    variant: str
    seed: int


class _Differences(Config):
    """What a comparison holds before its analyses: the variants, their differences and the verdict."""

    schema_version: Literal[2] = 2
    edition: int = 0
    experiment: str
    baseline: str
    primary: str | None
    smallest_worthwhile: float
    verdict: str
    statements: list[str]
    conditions: Conditions | None
    corpus: Corpus | None
    variants: list[VariantSummary]
    differences: list[Difference]
    tuning: Tuning | None = None


if TYPE_CHECKING:  # the fields of the analyses are read by type, never by name
    _WithAnalyses = _Differences
else:
    _WithAnalyses = create_model(
        "_WithAnalyses", __base__=_Differences, **{each.key: (each.schema | None, None) for each in ANALYSES}
    )


class Comparison(_WithAnalyses):
    """`model_dump(mode="json")` is the JSON document of `compare`.

    `verdict` is one sentence: the conditions, then the `statements`, one for each variant. `primary` is the variant
    whose comparison is not corrected for the others, `smallest_worthwhile` the difference in nats per token below
    which two variants count as equal. Between `tuning` and `failures` stands one field for each analysis, under its
    key: see `analysis`.
    """

    failures: list[RunFailure]
    pending: list[Pending]
    notes: list[str]
    sources: dict[str, str] = {}  # noqa: RUF012 (a frozen model); SHA-256 of every result and failure it is made of

    def analysis(self, schema: type[Schema]) -> Schema | None:
        """The answer of the analysis with this schema; null where it had nothing to measure."""
        (key,) = (each.key for each in ANALYSES if each.schema is schema)
        found: Schema | None = getattr(self, key)
        return found

    @property
    def all_differences(self) -> list[Difference]:
        """To the baseline: those judged together, then those of bodies of its size, each judged by itself."""
        budget = self.analysis(Budget)
        matched = budget.equal_parameters if budget else []
        return [*self.differences, *(found for each in matched for body in each.bodies for found in body.differences)]


def summarize(
    results: Sequence[RunResult],
    failures: Sequence[RunFailure],
    name: str,
    baseline: str,
    order: Sequence[str],
    planned: Mapping[str, Sequence[int]] | None = None,
    *,
    primary: str | None = None,
    smallest_worthwhile: float = SMALLEST_WORTHWHILE,
    tuning: Tuning | None = None,
    scores_of: ScoresOf | None = None,
) -> Comparison:
    """Compare finished runs. `order` lists the variants as they are to be shown; those without a run are left out.

    `planned` maps variants to seeds and tells what is still to come. Failed runs are listed and stand in no figure.
    `primary` is the first of `order` beside the baseline unless named. `scores_of` finds the scores of each token,
    for the intervals over documents, `tuning` is what was tried before the runs. Variants that the plan added are
    judged against nothing: those who asked for them read them. Raises ConfigError where two results are of one variant
    and seed.
    """
    runs = _by_variant(results, order)
    kept = scores_of or (lambda run, split: None)
    added = {variant for variant, own in runs.items() if own[0].config.get("added")} - {baseline}
    asked = [variant for variant in runs if variant not in added]
    primary = primary or default_primary([variant for variant in order if variant not in added], baseline)
    base_runs = runs.get(baseline, [])
    variants = [summarize_variant(variant, own, base_runs) for variant, own in runs.items()]
    conditions = Conditions.of([run for own in runs.values() for run in own])
    measured = {
        variant: contrasts(own, base_runs, kept) for variant, own in runs.items() if variant != baseline and base_runs
    }
    to_judge = [found for variant in asked for found in measured.get(variant, [])]
    differences = judge(to_judge, primary, smallest_worthwhile)
    pending = list(_pending(results, failures, planned or {}))
    num_seeds = conditions.num_seeds if conditions else 0
    said = statements(asked, baseline, differences, num_seeds, smallest_worthwhile, len(failures))
    found: dict[str, Any] = {
        "noise_floor": measure_noise(runs, baseline, differences),
        "tokens_to_reach": tokens_to_reach(runs, baseline),
        "budget": weigh(runs, baseline, measured, smallest_worthwhile),
        "frequency": break_down({variant: runs[variant] for variant in asked}, baseline, smallest_worthwhile, kept),
    }
    return Comparison(
        edition=EDITION,
        experiment=name,
        baseline=baseline,
        primary=primary,
        smallest_worthwhile=smallest_worthwhile,
        verdict=f"{conditions_in_words(conditions, not pending)}: {'; '.join(said)}." if conditions else _NOTHING,
        statements=said if conditions else [],
        conditions=conditions,
        corpus=next((run.corpus for own in runs.values() for run in own), None),
        variants=variants,
        differences=differences,
        tuning=tuning,
        **found,
        failures=list(failures),
        pending=pending,
        notes=[*_notes(runs), *(_lost_scores(differences) if scores_of else ())],
    )


def default_primary(order: Sequence[str], baseline: str) -> str | None:
    """The first variant that is not the baseline."""
    return next((variant for variant in order if variant != baseline), None)


def store_comparison(comparison: Comparison, folder: Path) -> Path:
    """Write comparison.json into an experiment's folder; raises RunError("disk")."""
    path = folder / COMPARISON_FILE
    write_atomic(path, comparison.model_dump_json(indent=1) + "\n")
    return path


def load_comparison(folder: Path) -> Comparison:
    """What `store_comparison` wrote; raises ConfigError where there is none or it cannot be read."""
    path = folder / COMPARISON_FILE
    try:
        return Comparison.model_validate_json(path.read_bytes())
    except OSError as error:
        problem = Problem("", f"no comparison is stored here ({error.strerror}); `tiedlm compare` makes one")
        raise ConfigError(problem, source=str(path)) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        problem = Problem(place, f"{first['msg']}; not a comparison of this version, `tiedlm compare` makes it anew")
        raise ConfigError(problem, source=str(path)) from None


def _by_variant(results: Sequence[RunResult], order: Sequence[str]) -> dict[str, list[RunResult]]:
    runs: dict[str, list[RunResult]] = {}
    for variant in dict.fromkeys([*order, *(result.variant for result in results)]):
        own = sorted((result for result in results if result.variant == variant), key=lambda run: run.seed)
        for one, other in itertools.pairwise(own):
            if one.seed == other.seed:
                raise ConfigError(Problem("", f"two finished runs are both {variant} with seed {one.seed}"))
        if own:
            runs[variant] = own
    return runs


def _pending(
    results: Sequence[RunResult], failures: Sequence[RunFailure], planned: Mapping[str, Sequence[int]]
) -> Iterator[Pending]:
    over = {(run.variant, run.seed) for run in results} | {(failure.variant, failure.seed) for failure in failures}
    for variant, seeds in planned.items():
        for seed in seeds:
            if (variant, seed) not in over:
                yield Pending(variant=variant, seed=seed)


def _lost_scores(differences: Sequence[Difference]) -> Iterator[str]:
    """Where an interval over documents could have been, had what each token cost been kept whole."""
    splits_of: dict[tuple[str, str | None], list[str]] = {}
    for found in differences:
        if found.mean is not None and found.num_documents is None:
            splits_of.setdefault((found.variant, found.text_reason), []).append(found.split)
    for (variant, reason), splits in splits_of.items():
        yield f"{variant}: no interval over the documents of {' and '.join(splits)}, for {reason}."


def _notes(runs: Mapping[str, Sequence[RunResult]]) -> Iterator[str]:
    """What a reader of the figures must know and would not see in them."""
    if len({tuple(run.seed for run in own) for own in runs.values()}) > 1:
        yield (
            "The variants have different seeds finished: each perplexity is over its own seeds, "
            "the differences are over the seeds in common."
        )
    for variant, own in runs.items():
        if any(run.parameters != own[0].parameters for run in own):
            yield f"{variant}: the seeds do not have the same parameter counts; those of seed {own[0].seed} are shown."
    if len({run.corpus.caption for own in runs.values() for run in own}) > 1:
        yield "The runs are not all on the same text."
