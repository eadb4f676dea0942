"""Config files: YAML as in its 1.2 core, `extends`, `--set`, and where a file is looked for."""

import math
import re
from importlib import resources
from pathlib import Path
from typing import Any, cast

import yaml

from tiedlm.config.merge import Raw, merge
from tiedlm.errors import ConfigError, Problem
from tiedlm.files import write_atomic

MAX_BYTES = 200_000
_NAME_LINE = re.compile(r"^name:[^\n#]*(?<! )", re.MULTILINE)


class _Loader(yaml.SafeLoader):
    """YAML 1.2 core: 1e-4 is a number, `no` and `12:30` are text, 010 is ten.

    Aliases, tags and repeated keys are refused.
    """

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012 (PyYAML's own interface)

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        refused = "aliases (*name)" if isinstance(event, yaml.AliasEvent) else "tags (!name)" if event.tag else None
        if refused:
            raise yaml.MarkedYAMLError(problem=f"{refused} are not supported", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise yaml.MarkedYAMLError(problem=f"a key must be text, not {key!r}", problem_mark=key_node.start_mark)
            if key in mapping:
                raise yaml.MarkedYAMLError(problem=f"repeated key {key!r}", problem_mark=key_node.start_mark)
            mapping[key] = self.construct_object(value_node, deep=True)
        return mapping

    def construct_yaml_str(self, node: yaml.ScalarNode) -> str:
        text, mark = str(self.construct_scalar(node)), cast(Any, node.start_mark)
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise yaml.MarkedYAMLError(problem="half of a surrogate pair is no text", problem_mark=mark)
        return text

    def construct_yaml_int(self, node: yaml.ScalarNode) -> int:
        text = str(self.construct_scalar(node)).replace("_", "")
        base = {"0x": 16, "0o": 8}.get(text[:2], 10)
        return int(text[2:] if base != 10 else text, base)

    def construct_yaml_float(self, node: yaml.ScalarNode) -> float:
        text = str(self.construct_scalar(node)).replace("_", "").lower()
        return float(text.replace(".inf", "inf").replace(".nan", "nan"))


def _resolve(tag: str, pattern: str, first: str) -> None:
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern})\Z"), list(first))


_resolve("null", "~|null|Null|NULL", "~nN")
_Loader.add_implicit_resolver("tag:yaml.org,2002:null", re.compile(r"\Z"), [""])
_resolve("bool", "true|True|TRUE|false|False|FALSE", "tTfF")
_resolve("int", r"[-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789")
_resolve(
    "float",
    r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
    "-+.0123456789",
)
_Loader.add_constructor("tag:yaml.org,2002:map", _Loader.construct_mapping)
_Loader.add_constructor("tag:yaml.org,2002:str", _Loader.construct_yaml_str)
_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)


def load_yaml(text: str, source: str) -> Any:
    """The value of one YAML document; ConfigError with line and column where it is not one."""
    try:
        return yaml.load(text, _Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        place = f"{source}:{mark.line + 1}:{mark.column + 1}" if mark else source
        context = f"{error.context}, " if error.context else ""
        raise ConfigError(Problem("", f"{context}{error.problem}"), source=place) from None
    except yaml.YAMLError as error:
        raise ConfigError(Problem("", f"not YAML: {str(error).splitlines()[0]}"), source=source) from None
    except RecursionError:
        raise ConfigError(Problem("", "nested too deeply"), source=source) from None
    except ValueError:
        raise ConfigError(Problem("", "holds a whole number of thousands of digits"), source=source) from None


def dump_yaml(raw: Raw) -> str:
    """Block YAML that `load_yaml` reads back to the same values."""
    return yaml.dump(raw, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """Writes with this module's own idea of which plain scalars are text, so that nothing changes type on reload."""

    yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def _represent_float(dumper: yaml.SafeDumper, value: float) -> yaml.Node:
    text = repr(value) if math.isfinite(value) else {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
    return dumper.represent_scalar("tag:yaml.org,2002:float", text)


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')


_Dumper.add_representer(float, _represent_float)
_Dumper.add_representer(str, _represent_text)


def read_text(path: Path) -> str:
    """The text of a config file; one clear ConfigError where it cannot be one."""
    source = str(path)
    try:
        if path.is_dir():
            raise ConfigError(Problem("", "is a folder, not a config file"), source=source)
        if path.exists() and not path.is_file():  # a pipe or a device, which might never end
            raise ConfigError(Problem("", "is no ordinary file"), source=source)
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(Problem("", f"cannot be read: {error.strerror}"), source=source) from None
    if len(data) > MAX_BYTES:
        raise ConfigError(Problem("", f"larger than {MAX_BYTES:,} bytes: not a config file"), source=source)
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise ConfigError(Problem("", f"not UTF-8 text (byte {error.start})"), source=source) from None


def read_config(path: Path, _above: tuple[Path, ...] = ()) -> Raw:
    """The mapping in a config file with everything it `extends` underneath.

    What it extends is a path from its own folder, else the name of a config that comes with the package.
    """
    source, resolved = str(path), path.resolve()
    if resolved in _above:
        chain = " -> ".join(item.name for item in [*_above, resolved])
        raise ConfigError(Problem("extends", f"goes in a circle: {chain}"), source=source)
    raw = load_yaml(read_text(path), source)
    if not isinstance(raw, dict):
        raise ConfigError(Problem("", "must hold a mapping of keys to values"), source=source)
    parent = raw.pop("extends", None)
    if parent is None:
        return raw
    if not isinstance(parent, str):
        raise ConfigError(Problem("extends", f"{parent!r}: must be the name of a file"), source=source)
    below = path.parent / parent if _is_there(path.parent / parent) else _packaged(parent)
    if below is None:
        message = f"{path.parent / parent} does not exist, and no config of that name comes with the package"
        raise ConfigError(Problem("extends", message), source=source)
    return merge(read_config(below, (*_above, resolved)), raw)


def find_config(name: str | Path) -> Path:
    """A config by path, else by name among those that come with the package ("tied.yaml", "quickstart", "gpt2").

    Raises ConfigError that lists the packaged ones.
    """
    path = Path(name)
    there = _is_there(path)
    if there and not path.is_dir():
        return path
    wanted = str(name)
    found = _packaged(wanted)
    if found is not None:
        return found
    if there:
        raise ConfigError(Problem("", "is a folder, not a config file"), source=wanted)
    names = ", ".join(key.removesuffix(".yaml") for key in packaged_configs())
    raise ConfigError(Problem("", f"no such file, and none of the packaged configs: {names}"), source=wanted[:200])


def _packaged(name: str) -> Path | None:
    packaged = packaged_configs()
    candidates = (name, f"{name}.yaml", f"shapes/{name}", f"shapes/{name}.yaml")
    return next((packaged[candidate] for candidate in candidates if candidate in packaged), None)


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name too long, a folder that may not be looked into
        return False


def packaged_configs() -> dict[str, Path]:
    """The configs that come with the package, by name ("tied.yaml", "shapes/gpt2.yaml")."""
    root = Path(str(resources.files("tiedlm.configs")))
    return {path.relative_to(root).as_posix(): path for path in sorted(root.rglob("*.yaml"))}


def purpose(path: Path) -> str:
    """What a config is for: the comment at its top, up to the first line that ends a sentence."""
    said: list[str] = []
    for line in read_text(path).splitlines():
        if not line.startswith("#") or (said and said[-1].endswith(".")):
            break
        said.append(line.removeprefix("#").strip())
    return " ".join(said)


def copy_config(name: str, destination: Path) -> list[Path]:
    """Copy a config to a file, or into a folder, with those that it extends beside it; returns what was written.

    Under another file name it is another experiment, and named so: two that differ must not share their run folders.
    Raises ConfigError where a file is there already or what it extends lies outside its own folder.
    """
    source = find_config(name)
    target = destination / source.name if destination.is_dir() else destination
    copies: dict[Path, str] = {}
    while True:
        copies[target] = read_text(source)
        parent = read_extends(source)
        if parent is None:
            break
        if target.parent / parent in copies:
            raise ConfigError(Problem("extends", "goes in a circle"), source=str(source))
        if not (source.parent / parent).resolve().is_relative_to(source.parent.resolve()):
            raise ConfigError(Problem("extends", f"{parent} lies outside its folder; copy by hand"), source=str(source))
        source, target = source.parent / parent, target.parent / parent
    for path in copies:
        if _is_there(path):
            raise ConfigError(Problem("", "is there already; nothing was copied"), source=str(path))
    first = next(iter(copies))
    if first.stem != find_config(name).stem:
        copies[first] = _NAME_LINE.sub(f"name: {first.stem}", copies[first], count=1)
    for path, text in copies.items():
        write_atomic(path, text)
    return list(copies)


def read_extends(path: Path) -> str | None:
    """What a config says it extends, if it lies beside it; one that comes with the package is found wherever it is."""
    raw = load_yaml(read_text(path), str(path))
    parent = raw.get("extends") if isinstance(raw, dict) else None
    if parent is None or (isinstance(parent, str) and not _is_there(path.parent / parent) and _packaged(parent)):
        return None
    if not isinstance(parent, str):
        raise ConfigError(Problem("extends", f"{parent!r}: must be the name of a file"), source=str(path))
    return parent


def apply_settings(raw: Raw, settings: list[str]) -> Raw:
    """`raw` with each `dotted.key=value` laid over it; the value is parsed as in a config file."""
    for setting in settings:
        key, equals, value = setting.partition("=")
        steps = key.strip().split(".")
        if not equals or not all(steps):
            raise ConfigError(Problem("", f"{setting!r} is not key=value"), source="--set")
        override: Any = load_yaml(value, f"--set {key}")
        for step in reversed(steps):
            override = {step: override}
        raw = merge(raw, override)
    return raw
