"""Whether runs may be pooled: a mean over seeds is of one text, cut, scored and computed in one way. Free of torch."""

import json
from collections.abc import Callable, Iterable, Sequence

from tiedlm.comparison.pairing import machine_of, tokens_in_words
from tiedlm.config.base import ConfigError, Problem
from tiedlm.run.result import RunResult

_TEXT = ("text", "tokens")
_NAMED = 4
"""At most so many runs are named for each value."""


class UnlikeRunsError(ConfigError):
    """Runs that no figure may be made of together."""


def check_alike(runs: Sequence[RunResult]) -> None:
    """Raise UnlikeRunsError that names what differs, and in which runs, where runs are pooled that must not be.

    The seeds of a variant must be alike in all that decides their numbers, and runs of several variants must have one
    text where their configs ask for one. In what else variants may differ is said by their pairing.
    """
    seeds = _groups(runs, lambda run: run.variant)
    texts = _groups(runs, lambda run: json.dumps(run.config.get("data"), sort_keys=True))
    facts = {_name(run): {**_scoring(run), **machine_of(run)} for run in runs}
    for what in dict.fromkeys(what for known in facts.values() for what in known):
        for group in [*seeds, *(texts if what in _TEXT else ())]:
            if len(_by_value(what, group, facts)) > 1:
                raise UnlikeRunsError(Problem("", _message(what, _by_value(what, runs, facts))))


def _groups(runs: Iterable[RunResult], key: Callable[[RunResult], str]) -> list[list[RunResult]]:
    groups: dict[str, list[RunResult]] = {}
    for run in runs:
        groups.setdefault(key(run), []).append(run)
    return list(groups.values())


def _by_value(what: str, runs: Iterable[RunResult], facts: dict[str, dict[str, str]]) -> dict[str, list[str]]:
    """The names of the runs with each value; runs of which it is not known are left out."""
    runs_with: dict[str, list[str]] = {}
    for run in runs:
        if what in facts[_name(run)]:
            runs_with.setdefault(facts[_name(run)][what], []).append(_name(run))
    return runs_with


def _message(what: str, runs_with: dict[str, list[str]]) -> str:
    sides = " against ".join(f"{value} ({_listed(names)})" for value, names in runs_with.items())
    way_out = "compare the folders of runs that agree, or train the others again with --fresh"
    return f"the runs are not alike, and no figure is made of them together: {what}: {sides}; {way_out}"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _name(run: RunResult) -> str:
    return f"{run.variant} seed {run.seed}"


def _scoring(run: RunResult) -> dict[str, str]:
    """What was trained on and scored; what comes first decides what follows.

    Not how many tokens: with `epochs`, seeds of one recipe differ by a few, for a short last window.
    """
    return {
        "text": f"{run.corpus.caption} {run.hashes.corpus[:8]}",
        "tokens": tokens_in_words(run),
        **{f"windows of {name}": f"{split.seq_len} tokens every {split.stride}" for name, split in run.splits.items()},
    }
