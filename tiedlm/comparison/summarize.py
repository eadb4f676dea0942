"""From finished runs to the comparison that is stored and shown. Free of torch."""

from collections.abc import Iterator, Sequence
from typing import Any

from tiedlm.comparison.analyses.all import ANALYSES
from tiedlm.comparison.comparison import EDITION, Comparison, Pending
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.question import Question
from tiedlm.comparison.variant_summary import summarize_variant
from tiedlm.comparison.verdict import Conditions, conditions_in_words, statements
from tiedlm.run.result import Corpus, RunFailure, RunResult

_NOTHING = "No run has finished: there is nothing to compare."


def summarize(finished: FinishedRuns, failures: Sequence[RunFailure] = ()) -> Comparison:
    """Compare finished runs. Failed runs are listed and stand in no figure.

    Variants that the plan added are judged against nothing here: the analyses they were added for read them.
    """
    question = finished.question
    conditions = Conditions.of(finished.every_run)
    pending = list(_pending(finished, failures))
    said = statements(finished, len(failures)) if conditions else []
    analyses: dict[str, Any] = {each.key: each.measure(finished) for each in ANALYSES}
    return Comparison(
        edition=EDITION,
        experiment=question.name,
        baseline=finished.baseline,
        primary=finished.primary,
        smallest_worthwhile=finished.smallest_worthwhile,
        verdict=f"{conditions_in_words(conditions, not pending)}: {'; '.join(said)}." if conditions else _NOTHING,
        statements=said,
        conditions=conditions,
        corpus=_corpus(finished.every_run),
        variants=[
            summarize_variant(variant, runs, finished.baseline_runs) for variant, runs in finished.by_variant.items()
        ],
        differences=finished.differences,
        tuning=question.tuning,
        **analyses,
        failures=list(failures),
        pending=pending,
        notes=list(finished.notes()),
    )


def summarize_one_run(result: RunResult) -> Comparison:
    """The figures of one finished run: a comparison of its variant with nothing."""
    question = Question(str(result.config.get("name", "")), baseline=result.variant, order=(result.variant,))
    return summarize(FinishedRuns.of([result], question))


def _corpus(runs: Sequence[RunResult]) -> Corpus | None:
    """That of the first run; the overlap of its splits may be known of a later run of the same text alone."""
    if not runs:
        return None
    same_text = (run.corpus.overlap for run in runs if run.hashes.corpus == runs[0].hashes.corpus)
    return runs[0].corpus.model_copy(update={"overlap": next(filter(None, same_text), None)})


def _pending(finished: FinishedRuns, failures: Sequence[RunFailure]) -> Iterator[Pending]:
    """The planned runs that have neither finished nor failed."""
    ended = {(run.variant, run.seed) for run in finished.every_run}
    ended |= {(failure.variant, failure.seed) for failure in failures}
    for variant, seeds in (finished.question.planned or {}).items():
        for seed in seeds:
            if (variant, seed) not in ended:
                yield Pending(variant=variant, seed=seed)
