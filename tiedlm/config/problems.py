"""What is wrong with a config, in the user's own keys and in plain words."""

import difflib
import json
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pydantic
from pydantic import BaseModel

from tiedlm.config.customary_names import customary
from tiedlm.errors import Problem

_EXPECTED = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "string_type": "text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping of keys to values",
    "model_type": "a mapping of keys to values",
    "model_attributes_type": "a mapping of keys to values",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "literal_error": "{expected}",
    "too_long": "a list of at most {max_length}",
    "too_short": "a list of at least {min_length}",
    "string_pattern_mismatch": "text that matches {pattern}",
}
"""By pydantic's name for a mistake, what a value must be."""


_MOST = 30
"""More mistakes than this are counted, not told."""


def problems_in(
    error: pydantic.ValidationError,
    model: type[BaseModel],
    raw: Mapping[str, Any],
    prefix: str = "",
    beside: Sequence[str] = (),
) -> list[Problem]:
    """Every mistake that pydantic found when it read `raw` as `model`, one `Problem` for each key that is wrong.

    `beside`: keys that a file may say beside the model's; an unknown one may have meant them.
    """
    known = sorted({*field_paths(model), *beside})
    by_path: dict[tuple[str, ...], list[Any]] = {}
    for item in error.errors(include_url=False):
        by_path.setdefault(_written_path(item["loc"], item["type"] == "missing", raw), []).append(item)
    problems: list[Problem] = []
    for path, items in list(by_path.items())[:_MOST]:
        tag_is_wrong = items[0]["type"] in ("union_tag_invalid", "union_tag_not_found")
        key = ".".join([*([prefix] if prefix else []), *path, *(["type"] if tag_is_wrong else [])])
        problems += [Problem(key, message) for message in _messages(items, path, model, known)]
    if len(by_path) > _MOST:
        problems.append(Problem(prefix, f"and {len(by_path) - _MOST:,} more mistakes"))
    return problems


def _messages(
    items: Sequence[Any], path: tuple[str, ...], model: type[BaseModel], known: Sequence[str]
) -> Iterator[str]:
    """What to say of the mistakes at one key: those of the branches of a union make one sentence."""
    expected: list[str] = []
    for item in items:
        kind, context = item["type"], {name: _whole(value) for name, value in item.get("ctx", {}).items()}
        if kind == "extra_forbidden":
            yield f"unknown key{_nearest('.'.join(path), item['input'], model, known)}"
        elif kind == "missing":
            yield "is required"
        elif kind == "value_error":
            yield str(context["error"])
        elif kind == "union_tag_not_found":
            yield f"is required: {_either(_tags(model, path))}"
        elif kind == "union_tag_invalid":
            yield f"{shown(item['input']['type'])}: must be {_either(_tags(model, path))}"
        elif kind == "model_attributes_type":
            expected.append(f"a mapping with type: {_either(_tags(model, path))}")
        else:
            expected.append(_EXPECTED[kind].format(**context) if kind in _EXPECTED else f"valid ({item['msg']})")
    if expected:
        value = items[0]["input"]
        hint = number_hint(value) if any("number" in words for words in expected) else ""
        if (
            expected == ["a list"]
            and re.fullmatch(r"[\w-]+", str(value))
            and not (value is None or isinstance(value, bool))
        ):
            hint = f", as [{value}]"
        yield f"{shown(value)}: must be {_either(list(dict.fromkeys(expected)))}{hint}"


def shown(value: object) -> str:
    """A value as a config would write it, on one line and not too long."""
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else text[:57] + "..."


def number_hint(value: object) -> str:
    """How a number is written, where text stands that means one: "10%", or a number in quotes."""
    text = value.strip() if isinstance(value, str) else ""
    percent = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*%", text)
    if percent:
        return f"; {text} is {float(percent[1]) / 100:g}"
    return "; write it without quotes" if re.fullmatch(r"[-+]?[0-9.]+(e[-+]?[0-9]+)?", text, re.IGNORECASE) else ""


def _whole(bound: object) -> object:
    return int(bound) if isinstance(bound, float) and bound.is_integer() else bound


def _either(choices: Sequence[str]) -> str:
    return " or ".join([", ".join(choices[:-1]), choices[-1]] if len(choices) > 1 else choices)


def _written_path(location: tuple[int | str, ...], missing: bool, raw: object) -> tuple[str, ...]:
    """The keys as the user wrote them: without the labels that pydantic adds for the branches of a union."""
    path: list[str] = []
    for index, step in enumerate(location):
        if _holds(raw, step):
            raw = cast(Any, raw)[step]
        elif not (missing and index == len(location) - 1):
            continue
        path.append(str(step)[:100])
    return tuple(path)


def _holds(raw: object, step: int | str) -> bool:
    if isinstance(raw, list | tuple):
        return isinstance(step, int) and step < len(raw)
    return isinstance(raw, Mapping) and step in raw


def _nearest(key: str, value: object, model: type[BaseModel], known: Sequence[str]) -> str:
    """Which key an unknown one may mean.

    Nearest by the last name alone: what stands before it would make any two keys of one mapping alike.
    """
    if key in known:
        return f" of this type; {_types_with(model, key)} has it"
    customary_key = customary(key)
    if customary_key is not None and customary_key.key != key:
        return f"; {customary_key.advice(value)}"
    parent, _, name = key.rpartition(".")
    inside = {path.rpartition(".")[2]: path for path in known if path.rpartition(".")[0] == parent}
    anywhere = {path.rpartition(".")[2]: path for path in reversed(known) if not key.startswith(f"{path}.")}
    for paths, cutoff in ((inside, 0.7), (anywhere, 0.8), (inside, 0.55)):
        for best in difflib.get_close_matches(name, paths, n=1, cutoff=cutoff):
            return f"; did you mean {paths[best]}?"
    return f"; known here: {', '.join(inside)}" if inside else ""


def field_paths(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The dotted names of all fields of `model` and of the models inside it, whichever `type` is chosen."""
    for name, field in model.model_fields.items():
        yield prefix + name
        for inner in models_in(field.annotation):
            yield from field_paths(inner, f"{prefix}{name}.")


def models_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The models in a type; of a union, each of its members."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from models_in(argument)


def _tags(model: type[BaseModel], path: Sequence[str]) -> list[str]:
    """The values of `type` among which the mapping at `path` chooses."""
    return list(dict.fromkeys(tag for each in _models_at(model, path) for tag in _tags_of(each)))


def _types_with(model: type[BaseModel], key: str) -> str:
    """The values of `type` with which the mapping around `key` has it, as "model.tying.type: soft or projected"."""
    *path, name = key.split(".")
    having = [each for each in _models_at(model, path) if name in each.model_fields]
    return f"{'.'.join([*path, 'type'])}: {_either([tag for each in having for tag in _tags_of(each)])}"


def _models_at(model: type[BaseModel], path: Sequence[str]) -> list[type[BaseModel]]:
    models = [model]
    for step in path:
        fields = [each.model_fields[step] for each in models if step in each.model_fields]
        models = list(dict.fromkeys(inner for field in fields for inner in models_in(field.annotation)))
    return models


def _tags_of(model: type[BaseModel]) -> list[str]:
    field = model.model_fields.get("type")
    return [str(tag) for tag in typing.get_args(field.annotation)] if field else []
