"""JSON that somebody else wrote: repeated keys, nesting without end and wrong kinds are refused. Free of torch."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from tiedlm.checkpoints.refusal import unreadable
from tiedlm.errors import ConfigError

MOST_OBJECTS = 1_000_000
_MOST_VALUES = 10 * MOST_OBJECTS
"""Beyond these it is no checkpoint's, and would take gigabytes of memory and minutes to parse."""


def mapping_of(text: bytes, place: str) -> dict[str, Any]:
    """The JSON object that `text` is; raises ConfigError with `place`."""
    if text.count(b"{") > MOST_OBJECTS or text.count(b",") > _MOST_VALUES:
        raise unreadable(place, f"holds more than {MOST_OBJECTS:,} objects or {_MOST_VALUES:,} values: not read")

    def unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            repeated = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise unreadable(place, f"the key {shown(repeated)} stands there twice: which one counts is not said")
        return found

    try:
        value = json.loads(text.decode(), object_pairs_hook=unique)
    except ConfigError:
        raise
    except RecursionError:
        raise unreadable(place, "is nested too deeply to be what it should be") from None
    except UnicodeDecodeError:
        raise unreadable(place, "is no text in UTF-8") from None
    except json.JSONDecodeError as error:
        raise unreadable(place, f"is no JSON: {error.msg} at character {error.pos:,}") from None
    except ValueError:  # a number with more digits than Python converts
        raise unreadable(place, "holds a number that is too long") from None
    if not isinstance(value, dict):
        raise unreadable(place, "must be a JSON object {..}")
    return value


def shown(value: object) -> str:
    """A value of a file for a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:60]}... ({len(text):,} characters)"
