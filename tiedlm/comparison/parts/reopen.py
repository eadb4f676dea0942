"""An experiment with parts again, from the comparison that is stored in its folder. Free of torch."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from tiedlm.comparison.gather import runs_in
from tiedlm.comparison.parts.answer import answer_parts
from tiedlm.comparison.parts.document import PartComparison, PartsComparison
from tiedlm.comparison.parts.question import PartRuns, PartsQuestion
from tiedlm.comparison.parts.stored import load_parts_comparison
from tiedlm.comparison.question import Question, question_of
from tiedlm.run.folder import RunFolder, part_folders
from tiedlm.run.layout import Layout


def gather_parts(home: Path) -> PartsComparison:
    """The comparison of the runs that are in the folder of an experiment now, asked as it was before.

    Raises ConfigError where no comparison of parts is stored there, or a run lost its config, RunError where a result
    cannot be read.
    """
    stored = load_parts_comparison(home)
    folders = {part.part: runs_in(home / part.part) for part in stored.parts}
    return answer_parts(parts_of(stored, home, folders), parts_question_of(stored), home)


def comparison_in(home: Path) -> PartsComparison:
    """That of the runs in the folder of an experiment; what is stored there where the runs themselves are not."""
    return gather_parts(home) if part_folders(home) else load_parts_comparison(home)


def parts_question_of(stored: PartsComparison) -> PartsQuestion:
    """What a stored comparison was asked."""
    return PartsQuestion(
        name=stored.experiment,
        kind="recipes" if stored.recipes else "budgets",
        baseline=stored.baseline,
        seeds=tuple(stored.seeds),
        primary=stored.primary,
        smallest_worthwhile=stored.smallest_worthwhile,
        choosing=tuple(stored.recipes.chosen_by) if stored.recipes else (),
        judging=tuple(stored.recipes.judged_by) if stored.recipes else (),
    )


def parts_of(stored: PartsComparison, home: Path, folders: Mapping[str, Sequence[RunFolder]]) -> list[PartRuns]:
    """The parts of a stored comparison, with the runs in these folders and those that were still to come."""
    only_judging = {*parts_question_of(stored).judging} - {*stored.seeds}
    return [_part(stored, part, home / part.part, folders[part.part], only_judging) for part in stored.parts]


def _part(
    stored: PartsComparison,
    part: PartComparison,
    home: Path,
    folders: Sequence[RunFolder],
    only_judging: set[int],
) -> PartRuns:
    begun = {(config.variant, config.seed): folder for folder in folders for config in (folder.made_with(),)}
    pending = [
        (run.variant, run.seed)
        for name, run in zip(stored.part_of_pending, stored.pending, strict=True)
        if name == part.part
    ]
    layout = Layout(home)
    judging = {run: RunFolder(layout.run_dir(*run)) for run in pending if run[1] in only_judging}
    own = {run: folder for run, folder in begun.items() if run[1] not in only_judging}
    return PartRuns(
        name=part.part,
        home=home,
        question=_question(stored, part, [*(run for run in pending if run not in judging), *own]),
        folders=list(own.values()),
        settings=part.settings,
        judging={**judging, **{run: folder for run, folder in begun.items() if run not in own}},
        budget=part.budget,
    )


def _question(stored: PartsComparison, part: PartComparison, runs: Sequence[tuple[str, int]]) -> Question:
    """Of a part's own comparison; of one where nothing had finished, that of the experiment."""
    planned: dict[str, tuple[int, ...]] = {}
    for variant, seed in dict.fromkeys(runs):
        planned[variant] = (*planned.get(variant, ()), seed)
    if part.comparison is not None:
        return replace(question_of(part.comparison), planned=planned)
    return Question(
        name=part.part,
        baseline=stored.baseline,
        order=(),
        planned=planned,
        primary=stored.primary,
        smallest_worthwhile=stored.smallest_worthwhile,
    )
