"""Whether runs may be pooled: a mean over seeds is of one text, cut, scored and computed in one way. Free of torch."""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tiedlm.comparison.pairing import machine_in_words, machine_of, tokens_in_words
from tiedlm.config.base import ConfigError, Problem
from tiedlm.run.result import RunResult

if TYPE_CHECKING:
    from tiedlm.comparison.comparison import Comparison

_TEXT = ("text", "tokens")
_NAMED = 4
"""At most so many runs are named for each value."""


class UnlikeRunsError(ConfigError):
    """Runs that no figure may be made of together."""


class _Run(NamedTuple):
    """A run by what decides its numbers; `data` is the text that it asked for."""

    variant: str
    seed: int
    data: str
    facts: dict[str, str]

    @property
    def name(self) -> str:
        return f"{self.variant} seed {self.seed}"


def check_alike(runs: Iterable[RunResult]) -> None:
    """Raise UnlikeRunsError that names what differs, and in which runs, where runs are pooled that must not be.

    The seeds of a variant must be alike in all that decides their numbers, and runs of several variants must have one
    text where their configs ask for one. In what else variants may differ is said by their pairing.
    """
    _check([_Run(run.variant, run.seed, _data(run.config), {**_scoring(run), **machine_of(run)}) for run in runs])


def check_stored_alike(comparison: "Comparison") -> None:
    """The same of the runs in a stored comparison: an older version of the program made one without looking."""
    caption = comparison.corpus.caption if comparison.corpus else ""
    runs: list[_Run] = []
    for variant in comparison.variants:
        for run in variant.runs:
            texts = {"text": f"{caption} {run.hashes.corpus[:8]}", "tokens": run.hashes.tokens[:8]}
            facts = {**texts, **machine_in_words(run.effective, run.versions, variant.config)}
            runs.append(_Run(variant.name, run.seed, _data(variant.config), facts))
    _check(runs)


def _check(runs: Sequence[_Run]) -> None:
    seeds, texts = _groups(runs, lambda run: run.variant), _groups(runs, lambda run: run.data)
    for what in dict.fromkeys(what for run in runs for what in run.facts):
        for group in [*seeds, *(texts if what in _TEXT else ())]:
            if len(_by_value(what, group)) > 1:
                raise UnlikeRunsError(Problem("", _message(what, _by_value(what, runs))))


def _data(config: dict[str, Any]) -> str:
    return json.dumps(config.get("data"), sort_keys=True)


def _groups(runs: Iterable[_Run], key: Callable[[_Run], str]) -> list[list[_Run]]:
    groups: dict[str, list[_Run]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return list(groups.values())


def _by_value(what: str, runs: Iterable[_Run]) -> dict[str, list[str]]:
    """The names of the runs with each value; runs of which it is not known are left out."""
    runs_with: dict[str, list[str]] = {}
    for run in runs:
        if what in run.facts:
            runs_with.setdefault(run.facts[what], []).append(run.name)
    return runs_with


def _message(what: str, runs_with: dict[str, list[str]]) -> str:
    sides = " against ".join(f"{value} ({_listed(names)})" for value, names in runs_with.items())
    way_out = "compare the folders of runs that agree, or train the others again with --fresh"
    return f"the runs are not alike, and no figure is made of them together: {what}: {sides}; {way_out}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _scoring(run: RunResult) -> dict[str, str]:
    """What was trained on and scored; what comes first decides what follows.

    Not how many tokens: with `epochs`, seeds of one recipe differ by a few, for a short last window.
    """
    return {
        "text": f"{run.corpus.caption} {run.hashes.corpus[:8]}",
        "tokens": tokens_in_words(run),
        **{f"windows of {name}": f"{split.seq_len} tokens every {split.stride}" for name, split in run.splits.items()},
    }
