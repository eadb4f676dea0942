"""From raw mappings to frozen, validated models, with every mistake named by its dotted key. Free of torch."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, TypeVar, get_args

import pydantic
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic.fields import FieldInfo

from tiedlm.config.merge import Raw as Raw
from tiedlm.config.merge import merge as merge
from tiedlm.config.problems import models_in, problems_in, shown
from tiedlm.config.written import located, plain
from tiedlm.errors import ConfigError as ConfigError
from tiedlm.errors import Problem as Problem


class Config(BaseModel):
    """Base of every config model: frozen, strict about types, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, defer_build=True)


def whole(value: object) -> object:
    """An int for a float that is whole: YAML reads 1e8 as a float."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


@dataclass(frozen=True)
class Matches:
    """Marks text that a validator checks: `pattern` is all of it, `wanted` says in words what it "must be .."."""

    pattern: str
    wanted: str

    def __get_pydantic_json_schema__(
        self, core_schema: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        return {**handler(core_schema), "pattern": f"^(?:{self.pattern})$", "patternErrorMessage": self.wanted}


def _pair(value: object) -> object:
    return tuple(value) if isinstance(value, list) else value


def _name(value: str) -> str:
    check(_NAME.fullmatch(value) is not None, f"{shown(value)}: {_WANTED}")
    return value


_WANTED = "must be a name of letters, digits and . _ + = @ -, a letter or digit first, at most 100 characters"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+=@-]{0,99}")
Whole = Annotated[int, BeforeValidator(whole)]
Count = Annotated[int, BeforeValidator(whole), Field(gt=0, lt=2**63)]
Size = Annotated[int, BeforeValidator(whole), Field(gt=0, le=2**24)]
"""A length in one dimension; far above any that makes sense, and far below those that overflow a tensor's size."""
NonNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]
Fraction = Annotated[float, Field(ge=0, lt=1)]
FromList = BeforeValidator(_pair)
"""A tuple in a strict model, written as a list in YAML: `Annotated[tuple[float, float], FromList]`."""
Name = Annotated[str, AfterValidator(_name), Matches(_NAME.pattern, _WANTED)]
"""A name that becomes a folder: letters, digits and . _ + = @ -, at most 100 of them."""


@dataclass(frozen=True)
class Execution:
    """Marks a field that says how to carry a run out, not what it computes: no part of the run's identity."""


@dataclass(frozen=True)
class FilledIn:
    """Marks a field that is filled in from others where a file leaves it out; `default` says with what."""

    default: str


@dataclass(frozen=True)
class DefaultType:
    """Marks a choice by `type` that a mapping need not name."""

    type: str


@dataclass(frozen=True)
class ContentPath:
    """Marks a field that names a file: part of a run's identity is its content (tiedlm/data/identity), not its path.

    A path that a user wrote is absolute once it is parsed.
    """


FileName = Annotated[str, BeforeValidator(located), ContentPath()]
OptionalFileName = Annotated[str | None, BeforeValidator(located), ContentPath()]


@dataclass(frozen=True)
class TakesMemory:
    """Marks a field that the memory of a training step depends on, by `aspect` of its value."""

    aspect: Callable[[Any], object] = lambda value: value


Model = TypeVar("Model", bound=BaseModel)


def parse(
    model: type[Model], raw: Mapping[str, Any], source: str = "", prefix: str = "", beside: Sequence[str] = ()
) -> Model:
    """Validate `raw` as `model`.

    Raises ConfigError with every mistake at once; each key is dotted and starts with `prefix`. `beside` are other keys
    that an unknown one may have meant.
    """
    try:
        return model.model_validate(plain(raw, _keep_their_folder(model)))
    except pydantic.ValidationError as error:
        raise ConfigError(*problems_in(error, model, raw, prefix, beside), source=source) from None


@cache
def _keep_their_folder(model: type[BaseModel], prefix: str = "") -> frozenset[str]:
    """The dotted keys of fields that hold the path of a file, or a mapping that is still to be parsed."""
    keys: set[str] = set()
    for name, field in model.model_fields.items():
        if _names_file(field) or _holds_any(field.annotation):
            keys.add(prefix + name)
        else:
            keys |= {
                key for held in models_in(field.annotation) for key in _keep_their_folder(held, f"{prefix}{name}.")
            }
    return frozenset(keys)


def _holds_any(annotation: Any) -> bool:
    return annotation is Any or any(map(_holds_any, get_args(annotation)))


def semantic(config: BaseModel, prefix: str = "") -> dict[str, Any]:
    """The flat dotted keys that say what a run computes; fields marked `Execution` or `ContentPath` are left out."""
    keys: dict[str, Any] = {}
    for name, field in type(config).model_fields.items():
        if any(isinstance(mark, Execution | ContentPath) for mark in field.metadata):
            continue
        value = getattr(config, name)
        if isinstance(value, BaseModel):
            keys |= semantic(value, f"{prefix}{name}.")
        else:
            keys[prefix + name] = value
    return keys


def execution_keys(model: type[BaseModel], prefix: str = "") -> Iterator[str]:
    """The dotted keys of the fields marked `Execution`, in a model and in all that it may hold.

    They are found in the types, so that they also tell the keys apart of a config that no longer parses.
    """
    yield from _marked_keys(model, Execution, prefix)


def content_path_keys(model: type[BaseModel]) -> Iterator[str]:
    """The dotted keys of the fields marked `ContentPath`, likewise."""
    yield from _marked_keys(model, ContentPath, "")


def _marked_keys(model: type[BaseModel], mark: type[object], prefix: str) -> Iterator[str]:
    for name, field in model.model_fields.items():
        if any(isinstance(each, mark) for each in field.metadata):
            yield prefix + name
        else:
            for held in models_in(field.annotation):
                yield from _marked_keys(held, mark, f"{prefix}{name}.")


def _names_file(field: FieldInfo) -> bool:
    return any(isinstance(mark, ContentPath) for mark in field.metadata)


def first_difference(one: BaseModel, other: BaseModel) -> tuple[str, object, object] | None:
    """The first semantic key in which two configs differ, with both values; None where they mean the same run."""
    mine, theirs = semantic(one), semantic(other)
    for key in [*mine, *theirs]:
        if mine.get(key) != theirs.get(key):
            return key, mine.get(key), theirs.get(key)
    return None


def memory_settings(config: BaseModel) -> dict[str, object]:
    """What the memory of a training step depends on in a config, by key: the fields marked `TakesMemory`."""
    return {
        name: mark.aspect(getattr(config, name))
        for name, field in type(config).model_fields.items()
        for mark in field.metadata
        if isinstance(mark, TakesMemory)
    }


def check(condition: bool, message: str) -> None:
    """Refuse a combination of values inside a pydantic validator."""
    if not condition:
        raise ValueError(message)
