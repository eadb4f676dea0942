"""From YAML text to frozen, validated models, with every mistake named by its dotted key. Free of torch."""

import difflib
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

import pydantic
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints

Raw = dict[str, Any]
"""A parsed but not yet validated mapping."""


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong with a request: its dotted key ("" where there is none) and what to do about it."""

    key: str
    message: str

    def __str__(self) -> str:
        return f"{self.key}: {self.message}" if self.key else self.message


class ConfigError(ValueError):
    """The request was wrong: everything that is wrong with it, one `Problem` each."""

    def __init__(self, *problems: Problem, source: str = "") -> None:
        self.problems = problems
        self.source = source
        prefix = f"{source}: " if source else ""
        super().__init__("\n".join(f"{prefix}{problem}" for problem in problems))


class Config(BaseModel):
    """Base of every config model: frozen, strict about types, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


def _whole(value: object) -> object:
    """1e8 is a float in YAML but a whole number to its writer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _pair(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


Whole = Annotated[int, BeforeValidator(_whole)]
Count = Annotated[int, BeforeValidator(_whole), Field(gt=0)]
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
FromList = BeforeValidator(_pair)
"""A tuple in a strict model, written as a list in YAML: `Annotated[tuple[float, float], FromList]`."""
Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+=@-]{0,99}$")]
"""A name that becomes a folder: letters, digits and . _ + = @ -, at most 100 of them."""


@dataclass(frozen=True)
class Execution:
    """Marks a field that says how to carry a run out, not what it computes: no part of the run's identity."""


Model = TypeVar("Model", bound=BaseModel)


def merge(base: Mapping[str, Any], override: Mapping[str, Any]) -> Raw:
    """`base` with `override` laid over it, key by key; a mapping that names a `type` replaces the other whole."""
    merged = dict(base)
    for key, value in override.items():
        mine = merged.get(key)
        if isinstance(mine, dict) and isinstance(value, dict) and "type" not in value:
            merged[key] = merge(mine, value)
        else:
            merged[key] = value
    return merged


def parse(model: type[Model], raw: Mapping[str, Any], source: str = "", prefix: str = "") -> Model:
    """Validate `raw` as `model`.

    Raises ConfigError with every mistake at once; each key is dotted and starts with `prefix`.
    """
    try:
        return model.model_validate(raw)
    except pydantic.ValidationError as error:
        known = sorted(set(field_paths(model)))
        problems = [_problem(item, raw, known, prefix) for item in error.errors()]
        raise ConfigError(*problems, source=source) from None


def _problem(item: Any, raw: Mapping[str, Any], known: list[str], prefix: str) -> Problem:
    path = _written_path(item["loc"], raw)
    key = ".".join([prefix, *path] if prefix else path)
    kind, message = item["type"], item["msg"][0].lower() + item["msg"][1:]
    if kind == "extra_forbidden":
        return Problem(key, f"unknown key{_nearest('.'.join(path), known)}")
    if kind == "missing":
        return Problem(key, "is required")
    if kind == "value_error":
        return Problem(key, message.removeprefix("value error, "))
    if kind in ("union_tag_invalid", "union_tag_not_found"):
        context = item["ctx"]
        wanted = context.get("expected_tags", "")
        tag = f"{context['tag']!r} is not one of" if "tag" in context else "is required, one of"
        return Problem(f"{key}.type", f"{tag} {wanted}".strip())
    return Problem(key, f"{_shown(item.get('input'))}: {message}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _written_path(location: tuple[int | str, ...], raw: object) -> list[str]:
    """The keys as the user wrote them: without the tags that pydantic adds for a union by `type`."""
    path: list[str] = []
    for index, step in enumerate(location):
        is_tag = isinstance(raw, dict) and raw.get("type") == step and (step not in raw)
        if is_tag and path and index < len(location) - 1:
            continue
        if isinstance(raw, dict):
            raw = raw.get(step)
        elif isinstance(raw, list) and isinstance(step, int) and step < len(raw):
            raw = raw[step]
        path.append(str(step))
    return path


def _nearest(key: str, known: list[str]) -> str:
    parent, _, name = key.rpartition(".")
    inside = [path for path in known if path.rpartition(".")[0] == parent]
    close = difflib.get_close_matches(key, inside, n=1, cutoff=0.7)
    elsewhere = [path for path in known if path.rpartition(".")[2] == name]
    best = close or elsewhere or difflib.get_close_matches(key, known, n=1, cutoff=0.75)
    if best:
        return f"; did you mean {best[0]}?"
    return f"; known here: {', '.join(path.rpartition('.')[2] for path in inside)}" if inside else ""


def field_paths(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The dotted names of all fields of `model` and of the models inside it, whichever `type` is chosen."""
    for name, field in model.model_fields.items():
        yield prefix + name
        for inner in _models_in(field.annotation):
            yield from field_paths(inner, f"{prefix}{name}.")


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in typing.get_args(annotation):
        yield from _models_in(argument)


def semantic(config: BaseModel, prefix: str = "") -> dict[str, Any]:
    """The flat dotted keys that say what a run computes; fields marked `Execution` are left out."""
    keys: dict[str, Any] = {}
    for name, field in type(config).model_fields.items():
        if any(isinstance(mark, Execution) for mark in field.metadata):
            continue
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            keys |= semantic(value, f"{prefix}{name}.")
        else:
            keys[prefix + name] = value
    return keys


def first_difference(one: BaseModel, other: BaseModel) -> tuple[str, object, object] | None:
    """The first semantic key in which two configs differ, with both values; None where they mean the same run."""
    mine, theirs = semantic(one), semantic(other)
    for key in [*mine, *theirs]:
        if mine.get(key) != theirs.get(key):
            return key, mine.get(key), theirs.get(key)
    return None


def check(condition: bool, message: str) -> None:
    """Refuse a combination of values inside a pydantic validator."""
    if not condition:
        raise ValueError(message)
