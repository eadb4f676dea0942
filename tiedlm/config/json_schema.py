"""Config models as JSON Schema of draft 7, which editors complete and check YAML with. Free of torch."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic.json_schema import models_json_schema

from tiedlm.config.base import DefaultType, FilledIn
from tiedlm.config.documentation import FieldText, field_texts
from tiedlm.config.problems import models_in, shown

Schema = dict[str, Any]

OF_TYPE = "Which it is; the other keys of this mapping hang on it."
"""What is said of every `type` that chooses."""

_BOUNDS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}
_UNWANTED = ("title", "required", "discriminator")
_NUMBERS = {
    "integer": (r"^[-+]?[0-9]+(_[0-9]*)+$", "must be a whole number"),
    "number": (r"^(?=.*_)[-+]?[0-9][0-9_]*(\.[0-9_]*)?([eE][-+]?[0-9]+)?$", "must be a number"),
}
"""How a number with underscores is written: text to an editor, whose YAML has no such numbers."""


def models_below(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """A model and all that it may hold."""
    yield model
    for field in model.model_fields.values():
        for inner in models_in(field.annotation):
            yield from models_below(inner)


def mappings(*models: type[BaseModel]) -> dict[str, Schema]:
    """For each model and all that it may hold, by class name, the schema of its mapping: any part of its keys."""
    _, document = models_json_schema([(model, "validation") for model in models])
    classes = {inner.__name__: inner for model in models for inner in models_below(model)}
    texts = texts_of(*models)
    found: dict[str, Schema] = {}
    for name, held in document["$defs"].items():
        fields = classes[name].model_fields
        properties = {key: _node(node) for key, node in held["properties"].items()}
        for key, node in properties.items():
            node["description"] = _described(texts[classes[name]][key].text, fields[key])
            _describe_types(node, {tag_of(each): texts[each]["type"].text for each in union_of(fields[key])})
        found[name] = {"type": "object", "properties": properties, "additionalProperties": False}
    return found


def texts_of(*models: type[BaseModel]) -> dict[type[BaseModel], Mapping[str, FieldText]]:
    """The texts of the fields of all models; one that has none has that of a sibling, another member of its union."""
    texts: dict[type[BaseModel], Mapping[str, FieldText]] = {}
    for model in models:
        texts.setdefault(model, field_texts(model))
        for field in model.model_fields.values():
            siblings = list(models_in(field.annotation))
            shared = {key: text for sibling in reversed(siblings) for key, text in field_texts(sibling).items()}
            for sibling in siblings:
                common = {key: shared[key] for key in sibling.model_fields if key in shared}
                texts |= texts_of(sibling)
                texts[sibling] = {**common, **field_texts(sibling)}
    return texts


def union_of(field: FieldInfo) -> list[type[BaseModel]]:
    """The models among which a mapping chooses by its `type`; none where there is no choice."""
    members = list(models_in(field.annotation))
    return members if len(members) > 1 else []


def required_keys(model: type[BaseModel]) -> list[str]:
    """The keys that a complete mapping must have: those that nothing fills in. `type` chooses the model."""
    return [name for name, field in model.model_fields.items() if field.is_required() and not filled_in(field)]


def filled_in(field: FieldInfo) -> str | None:
    """What a field is filled in with where a file leaves it out, in words."""
    return next((mark.default for mark in field.metadata if isinstance(mark, FilledIn)), None)


def default_type(field: FieldInfo) -> str | None:
    """The `type` that a mapping has which names none; null where it must name one."""
    return next((mark.type for mark in field.metadata if isinstance(mark, DefaultType)), None)


def tag_of(model: type[BaseModel]) -> str:
    """The `type` that chooses a model."""
    return str(get_args(model.model_fields["type"].annotation)[0])


def chosen_by_type(members: Mapping[str, Schema]) -> Schema:
    """The schema of a mapping that is one of `members`, by its `type`."""
    return {
        "allOf": [
            {"if": {"required": ["type"], "properties": {"type": {"const": tag}}}, "then": member}
            for tag, member in members.items()
        ]
    }


def with_number_spellings(node: Any) -> Any:
    """The same schema, which also takes numbers with underscores, as text."""
    if isinstance(node, list):
        return [with_number_spellings(item) for item in node]
    if not isinstance(node, dict):
        return node
    changed = {key: with_number_spellings(value) for key, value in node.items()}
    kinds = node.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    number = next((kind for kind in kinds if kind in _NUMBERS), None)
    if number is not None:
        pattern, wanted = _NUMBERS[number]
        changed |= {"type": [*kinds, "string"], "pattern": pattern, "patternErrorMessage": wanted}
    return changed


def _node(node: Schema) -> Schema:
    """The schema of a value as pydantic has it, in draft 7."""
    kept = {_BOUNDS.get(key, key): value for key, value in node.items() if key not in _UNWANTED}
    if isinstance(kept.get("default"), dict):
        del kept["default"]
    if "discriminator" in node:
        tags = {reference: tag for tag, reference in node["discriminator"]["mapping"].items()}
        members = {tags[member["$ref"]]: member["$ref"] for member in kept.pop("oneOf")}
        return {**kept, **_union(members)}
    if "$ref" in kept:
        kept["$ref"] = _reference(kept["$ref"])
    if "prefixItems" in kept:
        kept["items"] = [_node(item) for item in kept.pop("prefixItems")]
    elif isinstance(kept.get("items"), dict):
        kept["items"] = _node(kept["items"])
    branches = kept.pop("oneOf", None) or kept.pop("anyOf", None)
    return {**kept, **_any_of([_node(branch) for branch in branches])} if branches else kept


def _union(mapping: Mapping[str, str]) -> Schema:
    """A mapping chosen by its `type`; without it, which leaves the type to what lies underneath, any of their keys."""
    members = {tag: {"$ref": _reference(reference)} for tag, reference in mapping.items()}
    untyped = {"if": {"not": {"required": ["type"]}}, "then": {"$ref": f"#/definitions/{any_of_name(list(mapping))}"}}
    chosen = chosen_by_type(members)
    return {
        "type": "object",
        "properties": {"type": {"enum": list(mapping)}},
        "allOf": [*chosen["allOf"], untyped],
    }


def _described(text: str, field: FieldInfo) -> str:
    """The text of a key with its default, which editors show when they complete and not when they explain."""
    default = default_in_words(field)
    return text if default in (None, "null") else f"{text} Default: {default}."


def _describe_types(node: Schema, meanings: Mapping[str, str]) -> None:
    for branch in [node, *node.get("anyOf", [])] if meanings else []:
        if "type" in branch.get("properties", {}):
            branch["properties"]["type"] |= {"description": OF_TYPE, "enumDescriptions": list(meanings.values())}


def any_of_name(tags: Sequence[str]) -> str:
    """The name of the definition that has the keys of all types."""
    return "-or-".join(tags)


def _any_of(branches: list[Schema]) -> Schema:
    """One of several; null is folded into the other branch where that has one plain type."""
    others = [branch for branch in branches if branch.get("type") != "null"]
    if len(others) == 1 and len(branches) == 2:
        (other,) = others
        if "enum" in other or "const" in other:
            return {"enum": [*other.get("enum", [other.get("const")]), None]}
        if isinstance(other.get("type"), str) and "allOf" not in other:
            return {**other, "type": [other["type"], "null"]}
    return {"anyOf": branches}


def _reference(reference: str) -> str:
    return reference.replace("#/$defs/", "#/definitions/")


def default_in_words(field: FieldInfo) -> str | None:
    """What a field is where a file leaves it out, as a file would have it; null where it is required.

    Of a mapping that is its `type`, since each of its keys has a default of its own.
    """
    value = field.get_default()
    if filled_in(field) or field.is_required():
        return filled_in(field)
    if isinstance(value, BaseModel):
        return f"type: {tag_of(type(value))}" if "type" in type(value).model_fields else "as its keys say"
    return shown(list(value) if isinstance(value, tuple) else value).strip('"')
