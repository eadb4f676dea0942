"""The words that the documentation may put in code font: keys of a config and their values, names, what code says."""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from cli.app import COMMANDS
from tests.support.pages import PAGES, ROOT
from tiedlm.config.find import packaged_configs
from tiedlm.experiment.config import ExperimentKeys
from tiedlm.experiment.reading import load_experiment
from tiedlm.experiment.space import Range
from tiedlm.run.config import RunConfig

EXAMPLE = "scaled"
"""The strategy that docs/tying.md adds."""


@cache
def config_keys() -> dict[str, set[str]]:
    """Every dotted key of a config, with the words that its value may be."""
    found: dict[str, set[str]] = {"extends": set()}
    for model in (RunConfig, ExperimentKeys):
        schema = model.model_json_schema()
        for key, word in walk(schema, schema, ""):
            found.setdefault(key, set()).update({word} if word else ())
    return found


def walk(schema: Mapping[str, Any], root: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, str]]:
    """(dotted key, word that its value may be or "") of a JSON schema."""
    if "$ref" in schema:
        yield from walk(root["$defs"][schema["$ref"].rpartition("/")[2]], root, prefix)
    for way in ("anyOf", "oneOf"):
        for option in schema.get(way, ()):
            yield from walk(option, root, prefix)
    if "items" in schema:
        yield from walk(schema["items"], root, prefix)
    for word in [*schema.get("enum", ()), *([schema["const"]] if "const" in schema else [])]:
        yield prefix, str(word)
    for name, inner in schema.get("properties", {}).items():
        key = f"{prefix}.{name}" if prefix else name
        yield key, ""
        yield from walk(inner, root, key)


def is_key(written: str) -> bool:
    """Whether it is a key of a config, whole or without what stands before it; also of a recipe, or of a range."""
    written = re.sub(r"^recipes\.[\w-]+\.", "", written)
    return written in Range.model_fields or any(key == written or key.endswith(f".{written}") for key in config_keys())


@cache
def words() -> set[str]:
    """What a code span may be in one word: names of keys, of their values, of configs, variants, commands, packages."""
    keys = {part for key in config_keys() for part in key.split(".")}
    values = {word for found in config_keys().values() for word in found}
    files = set(packaged_configs())
    configs = files | {name.removesuffix(".yaml") for name in files} | {Path(name).stem for name in files}
    variants = {name for file in files if not file.startswith("shapes/") for name in load_experiment(file).variants}
    files_here = {path.name for path in [*ROOT.iterdir(), *(ROOT / "tiedlm").rglob("*")]}
    return keys | values | configs | variants | {*COMMANDS} | files_here | {EXAMPLE}


@cache
def everything_written() -> str:
    """The code, what installs it, and the blocks of the pages, whose output is checked elsewhere."""
    paths = [*(path for top in ("tiedlm", "cli", "configs") for path in (ROOT / top).rglob("*.py"))]
    paths += [ROOT / "pyproject.toml", ROOT / "tests" / "support" / "strategies.py"]
    shown = [block for found in PAGES for block in found.blocks()]
    return "\n".join([*(path.read_text(encoding="utf-8") for path in paths), *shown])


def is_written(words: str) -> bool:
    """Whether these words stand somewhere in the code or in what it prints."""
    return re.search(rf"(?<![\w-]){re.escape(words)}(?![\w-])", everything_written()) is not None


def check_mapping(raw: Any) -> None:
    """Fail where a piece of YAML has a key that no config has, or a word that no value may be."""
    for key, value in raw.items():
        assert is_key(key), key
        for inner in value if isinstance(value, list) else [value]:
            if isinstance(inner, dict):
                check_mapping(inner)
            elif isinstance(inner, str):
                assert inner in words() or inner.isupper(), f"{key}: {inner}"
