"""What a config file may hold, as JSON Schema of draft 7: an experiment, one run, or a model alone. Free of torch."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from tiedlm.config.json_schema import (
    Schema,
    any_of_name,
    chosen_by_type,
    default_type,
    mappings,
    models_below,
    required_keys,
    tag_of,
    union_of,
    with_number_spellings,
)
from tiedlm.config.keys import Key, keys_of
from tiedlm.config.problems import models_in
from tiedlm.experiment.config import OF_RECIPES, ExperimentKeys, FileKeys, Tune
from tiedlm.experiment.grid import REFUSED
from tiedlm.experiment.space import Range
from tiedlm.run.config import RunConfig

FILE_MODELS: tuple[type[BaseModel], ...] = (FileKeys, ExperimentKeys, RunConfig)
"""The models whose keys stand at the top of a file."""
TITLE = "tiedlm config"
_OF_THE_TOP = ("name", "seed", "variant", "added", "part")


def file_keys() -> list[Key]:
    """All keys of a config file."""
    return keys_of(FILE_MODELS)


def file_schema() -> Schema:
    """The JSON Schema of a config file.

    It refuses unknown keys, wrong types, values out of range, and the lack of what a file of one run must have. What
    hangs on several keys at once (`steps` or `tokens`, a width and its heads) is checked by tiedlm alone.
    """
    held = mappings(*FILE_MODELS, Range)
    definitions = {**held, **_unions(held)}
    top = {key: node for model in FILE_MODELS for key, node in definitions.pop(model.__name__)["properties"].items()}
    of_variants = {key: node for key, node in top.items() if key in RunConfig.model_fields and key not in _OF_THE_TOP}
    of_recipes = {key: of_variants[key] for key in OF_RECIPES}
    definitions["Variant"] = {"type": "object", "properties": of_variants, "additionalProperties": False}
    definitions["VariantOfRecipe"] = {"type": "object", "properties": of_recipes, "additionalProperties": False}
    names = {"pattern": top["name"]["pattern"]}
    own = {"variants": _by_name("VariantOfRecipe", names, type="object")}
    definitions["Recipe"] = {"type": "object", "properties": of_recipes | own, "additionalProperties": False}
    for key, named in (("variants", "Variant"), ("recipes", "Recipe")):
        top[key] = _by_name(named, names, type=["object", "null"], description=top[key]["description"])
    definitions["Range"] |= {"required": required_keys(Range)}
    definitions["Space"] = {"type": "object", "properties": _tunable(ranges=True), "additionalProperties": False}
    tune = definitions["Tune"]
    tune |= {"required": required_keys(Tune)}
    tune["properties"]["grid"] |= {"properties": _tunable(ranges=False), "additionalProperties": False}
    tune["properties"]["space"] = {
        "description": tune["properties"]["space"]["description"],
        "anyOf": [{"$ref": "#/definitions/Space"}, {"type": "null"}],
    }
    tune["properties"]["variants"] |= {"additionalProperties": {"$ref": "#/definitions/Space"}}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": TITLE,
        "description": "An experiment, one run, or a model alone.",
        "type": "object",
        "properties": with_number_spellings(top),
        "additionalProperties": False,
        "allOf": _what_is_lacking(),
        "definitions": with_number_spellings(definitions),
    }


def schema_text() -> str:
    """The JSON Schema as it stands in the file that comes with the package."""
    return json.dumps(file_schema(), indent=1, ensure_ascii=False) + "\n"


def _by_name(definition: str, names: Schema, **more: Any) -> Schema:
    """A mapping whose keys are names, each to what a definition says."""
    return {**more, "additionalProperties": {"$ref": f"#/definitions/{definition}"}, "propertyNames": names}


def _unions(held: Mapping[str, Schema]) -> dict[str, Schema]:
    """For each choice by `type`, the keys of all types: a mapping without one leaves it to what lies underneath."""
    unions = [
        union_of(info) for top in FILE_MODELS for model in models_below(top) for info in model.model_fields.values()
    ]
    return {any_of_name(list(map(tag_of, members))): _of_any(members, held) for members in unions if members}


def _of_any(members: Sequence[type[BaseModel]], held: Mapping[str, Schema]) -> Schema:
    owners: dict[str, list[str]] = {}
    for name in [member.__name__ for member in members]:
        for key, node in held[name]["properties"].items():
            if node not in [held[owner]["properties"][key] for owner in owners.setdefault(key, [])]:
                owners[key].append(name)
    properties = {key: _same_as(key, several) for key, several in owners.items() if key != "type"}
    return {"type": "object", "properties": {"type": True, **properties}, "additionalProperties": False}


def _same_as(key: str, owners: Sequence[str]) -> Schema:
    """The schema of a field, by reference; of several one of them."""
    nodes = [{"$ref": f"#/definitions/{owner}/properties/{key}"} for owner in dict.fromkeys(owners)]
    return nodes[0] if len(nodes) == 1 else {"anyOf": nodes}


def _tunable(ranges: bool) -> Schema:
    """The settings that may be tuned, by dotted key, each with its values, or a range; also as nested mappings."""
    keys_at: dict[str, list[Key]] = {}
    for key in file_keys():
        if key.path.startswith(("model.", "training.")) and key.path not in REFUSED and key.owner:
            keys_at.setdefault(key.path, []).append(key)
    return {
        **{path: _values(path, keys, ranges) for path, keys in keys_at.items()},
        "model": {"type": "object"},
        "training": {"type": "object"},
    }


def _values(path: str, keys: Sequence[Key], ranges: bool) -> Schema:
    """What may be tried of one setting."""
    items = _same_as(path.rpartition(".")[2], [key.owner for key in keys])
    listed: Schema = {"type": "array", "items": items, "minItems": 1}
    either = {"anyOf": [listed, {"$ref": "#/definitions/Range"}]} if ranges else listed
    return {**either, "description": " Or: ".join(dict.fromkeys(key.text.text for key in keys))}


def _what_is_lacking() -> list[Schema]:
    """A file of one run must have all that a run needs; one that extends another, has variants or tunes may not."""
    adds = [{"required": [key]} for key in ("extends", "variants", "tune")]
    trains = {"anyOf": [{"required": ["data"]}, {"required": ["training"]}]}
    needs = {"if": trains, "then": _required(RunConfig), "else": {"required": ["model"]}}
    names = {"if": {"required": ["variants"], "not": {"required": ["extends"]}}, "then": {"required": ["name"]}}
    return [{"if": {"not": {"anyOf": adds}}, "then": needs}, names]


def _required(model: type[BaseModel]) -> Schema:
    """What a mapping must have, and the mappings in it."""
    inner: dict[str, Any] = {}
    for name, info in model.model_fields.items():
        if members := union_of(info):
            inner[name] = _required_of_union(members, default_type(info))
        for member in [] if members else models_in(info.annotation):
            inner[name] = _required(member)
    return {"required": required_keys(model), "properties": {key: node for key, node in inner.items() if node}}


def _required_of_union(members: Sequence[type[BaseModel]], default: str | None) -> Schema:
    chosen = chosen_by_type({tag_of(member): _required(member) for member in members})
    for branch in chosen["allOf"]:
        if branch["if"]["properties"]["type"]["const"] == default:
            del branch["if"]["required"]  # no type is this one
    return chosen if default else {"required": ["type"], **chosen}
