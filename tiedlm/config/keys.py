"""All keys that config models have, each with all that is known of it. Free of torch."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import BaseModel

from tiedlm.config.documentation import FieldText
from tiedlm.config.json_schema import (
    OF_TYPE,
    Schema,
    default_in_words,
    default_type,
    mappings,
    tag_of,
    texts_of,
    union_of,
)
from tiedlm.config.problems import models_in


@dataclass(frozen=True)
class Key:
    """One dotted key, a field of the model `owner` (the name of its class).

    `schema` is that of its value, `default` what it is where it is left out, in words; null where it is required.
    `when` are the choices of the `type` beside it that have it, () where all do. `choices` are what each `type` means.
    """

    path: str
    owner: str
    schema: Schema
    text: FieldText
    default: str | None
    when: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)


def keys_of(models: Sequence[type[BaseModel]]) -> list[Key]:
    """The keys of a mapping that holds the fields of all `models`, in their order."""
    walk = _Walk(models)
    return [key for model in models for key in walk.keys(model, "")]


class _Walk:
    def __init__(self, models: Sequence[type[BaseModel]]) -> None:
        self._schemas, self._texts = mappings(*models), texts_of(*models)

    def keys(self, model: type[BaseModel], prefix: str) -> Iterator[Key]:
        for name, info in model.model_fields.items():
            path = f"{prefix}{name}"
            schema, text = self._schemas[model.__name__]["properties"][name], self._texts[model][name]
            yield Key(path, model.__name__, schema, text, default_in_words(info))
            if members := union_of(info):
                yield from self._of_union(members, path, default_type(info))
            for inner in [] if members else models_in(info.annotation):
                yield from self.keys(inner, f"{path}.")

    def _of_union(self, members: Sequence[type[BaseModel]], path: str, default: str | None) -> Iterator[Key]:
        """The `type`, then the keys of all types; what several have alike stands once."""
        texts = {tag_of(member): self._texts[member]["type"] for member in members}
        meanings = {tag: text.text for tag, text in texts.items()}
        chooses = FieldText(OF_TYPE, *_place(next(iter(texts.values()))))
        yield Key(f"{path}.type", "", {"enum": list(texts)}, chooses, default, choices=meanings)
        types_of: dict[tuple[str, str, str | None], list[str]] = {}
        first: dict[tuple[str, str, str | None], Key] = {}
        for member in members:
            for key in self.keys(member, f"{path}."):
                if key.path != f"{path}.type":
                    alike = (key.path, key.text.text, key.default)
                    types_of.setdefault(alike, []).append(tag_of(member))
                    first.setdefault(alike, key)
        for alike, key in first.items():
            has_types = key.when or len(types_of[alike]) == len(members)
            yield key if has_types else replace(key, when=tuple(f"{path}.type: {tag}" for tag in types_of[alike]))


def _place(text: FieldText) -> tuple[str, int]:
    return text.file, text.line
