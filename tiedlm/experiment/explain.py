"""The keys of a config file that a word means. Free of torch."""

import difflib
from dataclasses import dataclass
from typing import Any

from tiedlm.config.base import ConfigError, Problem
from tiedlm.config.customary_names import customary
from tiedlm.config.keys import Key
from tiedlm.config.schema_words import choices_of, type_in_words
from tiedlm.experiment.file_schema import file_keys


@dataclass(frozen=True)
class Explained:
    """The keys that were asked for, to be told in full, and those around them or like them, to be listed."""

    keys: list[Key]
    listed: list[Key]


def explain(word: str = "") -> Explained:
    """The keys of `word`: a dotted key, its last part, the mapping above keys, or a piece of a name; "" is all.

    Raises ConfigError that names the nearest where there is none.
    """
    keys = file_keys()
    exact = [key for key in keys if key.path == word]
    below = [key for key in keys if not word or key.path.startswith(f"{word}.")]
    if exact or below:
        return Explained(exact, below)
    named = [key for key in keys if f".{key.path}".endswith(f".{word}")]
    alike = [key for key in keys if word.lower() in key.path.lower() and key not in named]
    if len({key.path for key in named}) == 1:
        return Explained(named, alike)
    if named or alike:
        return Explained([], [*named, *alike])
    raise ConfigError(Problem("", f"no key has this name{_nearest(word, keys)}"), source=word[:100])


def document(key: Key) -> dict[str, Any]:
    """One key as JSON has it."""
    return {
        "key": key.path,
        "when": list(key.when),
        "meaning": key.text.text,
        "type": type_in_words(key.schema),
        "choices": {choice: key.choices.get(choice) for choice in choices_of(key.schema)},
        "required": key.default is None,
        "default": key.default,
        "source": f"{key.text.file}:{key.text.line}",
    }


def _nearest(word: str, keys: list[Key]) -> str:
    known = customary(word)
    if known is not None:
        return f"; {known.advice(None)}"
    by_name = {key.path.rpartition(".")[2]: key.path for key in reversed(keys)}
    near = difflib.get_close_matches(word.rpartition(".")[2], by_name, n=1, cutoff=0.5)
    return f"; did you mean {by_name[near[0]]}?" if near else " (`tiedlm configs explain` lists all)"
