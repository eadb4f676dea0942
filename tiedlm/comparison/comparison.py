"""Finished runs side by side: the document that is stored, printed and read by others. Free of torch."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from pydantic import ValidationError, create_model

from tiedlm.comparison.analyses.all import ANALYSES
from tiedlm.comparison.analyses.budget import Budget
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.variant_summary import VariantSummary
from tiedlm.comparison.verdict import Conditions
from tiedlm.config.base import Config, ConfigError, Problem
from tiedlm.experiment.tuning import Tuning
from tiedlm.files import write_atomic
from tiedlm.run.result import Corpus, RunFailure

COMPARISON_FILE = "comparison.json"
EDITION = 10
"""Counts what `summarize` makes of the same runs: what an earlier edition stored is made anew."""
Schema = TypeVar("Schema", bound=Config)


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
        measured: Schema | None = getattr(self, key)
        return measured

    @property
    def has_every_analysis(self) -> bool:
        """Whether each analysis was made, also where it had nothing to measure."""
        return {each.key for each in ANALYSES} <= self.model_fields_set

    @property
    def all_differences(self) -> list[Difference]:
        """To the baseline: those judged together, then those of bodies of its size, each judged by itself."""
        budget = self.analysis(Budget)
        bodies = [body for each in budget.equal_parameters for body in each.bodies] if budget else []
        return [*self.differences, *(difference for body in bodies for difference in body.differences)]


def store_comparison(comparison: Config, folder: Path) -> Path:
    """Write comparison.json into an experiment's folder; raises RunError("disk")."""
    path = folder / COMPARISON_FILE
    write_atomic(path, comparison.model_dump_json(indent=1) + "\n")
    return path


def load_comparison(folder: Path) -> Comparison:
    """What `store_comparison` wrote; raises ConfigError where there is none or it cannot be read.

    So it does where it is that of an experiment with parts: see tiedlm/comparison/parts/stored.
    """
    parts = parts_stored_in(folder)
    if parts:
        message = f"holds an experiment with {len(parts)} parts; name one of them, as {folder / parts[0]}"
        raise ConfigError(Problem("", message), source=str(folder / COMPARISON_FILE))
    return load_as(folder, Comparison)


def load_as(folder: Path, schema: type[Schema]) -> Schema:
    """What is stored in an experiment's folder; raises ConfigError where there is none or it is of another schema."""
    path = folder / COMPARISON_FILE
    try:
        return schema.model_validate_json(path.read_bytes())
    except OSError as error:
        below = sorted(found.parent.name for found in folder.glob(f"*/{COMPARISON_FILE}"))
        way_out = f"name one of those below: {', '.join(below[:10])}" if below else "`tiedlm compare` makes one"
        problem = Problem("", f"no comparison is stored here ({error.strerror}); {way_out}")
        raise ConfigError(problem, source=str(path)) from None
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        problem = Problem(place, f"{first['msg']}; not a comparison of this version, `tiedlm compare` makes it anew")
        raise ConfigError(problem, source=str(path)) from None


def parts_stored_in(folder: Path) -> list[str]:
    """The names of the parts where the folder holds the comparison of an experiment with recipes or budgets.

    Empty where it holds another one, none, or one that cannot be read.
    """
    try:
        document = json.loads((folder / COMPARISON_FILE).read_bytes())
    except (OSError, ValueError):
        return []
    parts = document.get("parts") if isinstance(document, dict) else None
    return [str(part.get("part")) for part in parts if isinstance(part, dict)] if isinstance(parts, list) else []
