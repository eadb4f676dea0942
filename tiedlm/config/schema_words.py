"""What a value must be, in words, from its JSON Schema. Free of torch."""

import json
from collections.abc import Iterator

from tiedlm.config.json_schema import Schema

_KINDS = {
    "integer": "whole number",
    "number": "number",
    "string": "text",
    "boolean": "true or false",
    "null": "null",
    "object": "mapping of keys to values",
}
_BOUNDS = {
    "exclusiveMinimum": "above",
    "minimum": "at least",
    "exclusiveMaximum": "below",
    "maximum": "at most",
}


def type_in_words(schema: Schema) -> str:
    """The kind of a value with its range: "whole number, at least 0; or number, at least 0, below 1"."""
    return "; or ".join(dict.fromkeys(_kinds(schema)))


def choices_of(schema: Schema) -> list[str]:
    """The words among which a value may be chosen."""
    found = list(schema.get("enum", [schema["const"]] if "const" in schema else []))
    inner = [schema["items"]] if isinstance(schema.get("items"), dict) else schema.get("anyOf", [])
    return [*map(_plain, found), *(choice for branch in inner for choice in choices_of(branch))]


def _kinds(schema: Schema) -> Iterator[str]:
    if "anyOf" in schema:
        for branch in schema["anyOf"]:
            yield from _kinds(branch)
    elif "enum" in schema or "const" in schema:
        yield " or ".join([", ".join(choices_of(schema)[:-1]), choices_of(schema)[-1]]).removeprefix(" or ")
    else:
        kinds = schema.get("type", "object")
        for kind in [kinds] if isinstance(kinds, str) else kinds:
            yield _list(schema) if kind == "array" else ", ".join([_kind(kind, schema), *_range(kind, schema)])


def _kind(kind: str, schema: Schema) -> str:
    if kind == "string" and "pattern" in schema:
        return str(schema["patternErrorMessage"]).removeprefix("must be ")
    return _KINDS[kind]


def _range(kind: str, schema: Schema) -> Iterator[str]:
    if kind in ("integer", "number"):
        for bound, words in _BOUNDS.items():
            widest = bound == "exclusiveMinimum" and "minimum" in schema
            if bound in schema and schema[bound] != 2**63 and not widest:
                yield f"{words} {schema[bound]:,}"


def _list(schema: Schema) -> str:
    items = schema.get("items")
    if isinstance(items, list):
        return f"list of {len(items)}: {type_in_words(items[0])}"
    return f"list of: {type_in_words(items)}" if items else "list"


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)
