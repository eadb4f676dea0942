"""What is asked of an experiment with parts, and where its parts lie. Free of torch."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from tiedlm.comparison.comparison import EDITION
from tiedlm.comparison.parts.document import PARTS_EDITION
from tiedlm.comparison.question import Question
from tiedlm.evaluation.measures import SMALLEST_WORTHWHILE
from tiedlm.run.folder import RunFolder


@dataclass(frozen=True)
class PartRuns:
    """One part: its folder, the runs of its own comparison, and what is asked of these.

    `question.planned` has the seeds of the experiment. Runs of other seeds that only judge this recipe are in `judging`
    by variant and seed, also those still to come. `settings` are what the recipe changes, by dotted key; `budget` is
    the length in lengths of the experiment's own.
    """

    name: str
    home: Path
    question: Question
    folders: Sequence[RunFolder]
    settings: Mapping[str, Any] = field(default_factory=dict)
    judging: Mapping[tuple[str, int], RunFolder] = field(default_factory=dict)
    budget: float | None = None


@dataclass(frozen=True)
class PartsQuestion:
    """What is asked of all parts together; the keys are those of Question.

    With recipes, the seeds `choosing` choose each variant's recipe, and `judging` compare them; `seeds` are those of
    the parts' own comparisons.
    """

    name: str
    kind: Literal["recipes", "budgets"]
    baseline: str
    seeds: tuple[int, ...]
    primary: str | None = None
    smallest_worthwhile: float = SMALLEST_WORTHWHILE
    choosing: tuple[int, ...] = ()
    judging: tuple[int, ...] = ()


def digest(question: PartsQuestion, parts: Sequence[PartRuns]) -> str:
    """SHA-256 of all that is asked, in whatever order runs are planned, and of the editions that answer it."""
    asked = [
        {
            "name": part.name,
            "question": asdict(replace(part.question, planned=None)),
            "planned": sorted((variant, sorted(seeds)) for variant, seeds in (part.question.planned or {}).items()),
            "settings": dict(part.settings),
            "judging": sorted(part.judging),
            "budget": part.budget,
        }
        for part in parts
    ]
    content = {"editions": [EDITION, PARTS_EDITION], **asdict(question), "parts": asked}
    text = json.dumps(content, default=lambda record: record.model_dump(mode="json"))
    return hashlib.sha256(text.encode()).hexdigest()
