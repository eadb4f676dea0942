"""Recompute what an experiment with parts reports, from its parts and their runs. Free of torch."""

import json
from pathlib import Path
from typing import Any

from tiedlm.comparison.answer import answer_from, read_outcomes
from tiedlm.comparison.checks import Checks, Failed
from tiedlm.comparison.comparison import COMPARISON_FILE, EDITION
from tiedlm.comparison.parts.answer import FinishedPart, join, sources_of_parts
from tiedlm.comparison.parts.document import PARTS_EDITION, PartsComparison
from tiedlm.comparison.parts.question import PartRuns
from tiedlm.comparison.parts.reopen import parts_of, parts_question_of
from tiedlm.comparison.parts.stored import load_parts_comparison
from tiedlm.comparison.pooling import UnlikeRunsError
from tiedlm.comparison.verify import (
    CHECKED_APART,
    EARLIER_WORDS,
    TAKEN_AS_STORED,
    Verified,
    check_runs,
    check_sources,
    digests_of_runs,
    require,
    verify,
)
from tiedlm.run.folder import RunFolder

_PARTS_AS_STORED = "what each recipe changes, the lengths of the budgets, and which seeds choose and judge"


def verify_parts(home: Path) -> Verified:
    """Check the folder of an experiment with parts: each part, the runs that only judge, and what is made of all.

    Raises ConfigError where a file is missing, RunError where a result cannot be read.
    """
    stored = load_parts_comparison(home)
    parts = parts_of(stored, home, _folders(home, stored))
    alone = [verify(part.home) for part in parts if any(run.result_file.is_file() for run in part.folders)]
    checks = Checks()
    judging = [run for part in parts for run in part.judging.values() if run.result_file.is_file()]
    check_runs(home, judging, checks)
    checks.words = stored.edition == PARTS_EDITION and all(
        part.comparison is None or part.comparison.edition == EDITION for part in stored.parts
    )
    _check_joined(home, stored, parts, checks)
    faults = [
        fault.model_copy(update={"file": f"{Path(part.folder).name}/{fault.file}"})
        for part in alone
        for fault in part.failed
    ]
    return Verified(
        folder=str(home),
        num_runs=len(judging) + sum(part.num_runs for part in alone),
        num_numbers=checks.num_numbers + sum(part.num_numbers for part in alone),
        num_words=checks.num_words + sum(part.num_words for part in alone),
        failed=[*faults, *checks.failed],
        not_checked=[TAKEN_AS_STORED, _PARTS_AS_STORED, *([] if checks.words else [EARLIER_WORDS])],
    )


def _folders(home: Path, stored: PartsComparison) -> dict[str, list[RunFolder]]:
    """The folders of the runs that the comparison was made of, by part."""
    keys = digests_of_runs(stored.sources)
    require([home / key for key in keys])
    return {
        part.part: [
            RunFolder(path)
            for path in dict.fromkeys((home / key).parent for key in keys if key.startswith(f"{part.part}/"))
        ]
        for part in stored.parts
    }


def _check_joined(home: Path, stored: PartsComparison, parts: list[PartRuns], checks: Checks) -> None:
    """Make the joined comparison anew and hold the stored one, as it lies on disk, against it."""
    outcomes = {part.name: read_outcomes([*part.folders, *part.judging.values()]) for part in parts}
    try:
        finished = [
            FinishedPart(part, answer_from(read_outcomes(part.folders), part.question), outcomes[part.name])
            for part in parts
        ]
        recomputed = join(finished, parts_question_of(stored)).model_dump(mode="json")
    except UnlikeRunsError as error:
        checks.failed.append(Failed(file=COMPARISON_FILE, key="parts", stored="pooled", recomputed=str(error)))
        return
    document: dict[str, Any] = json.loads((home / COMPARISON_FILE).read_bytes())
    for part in document["parts"]:
        if part["comparison"] is not None:
            part["comparison"] = _without(part["comparison"])
    checks.check(COMPARISON_FILE, _without(document), recomputed)
    check_sources(stored.sources, sources_of_parts(outcomes), checks)


def _without(document: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key not in CHECKED_APART}
