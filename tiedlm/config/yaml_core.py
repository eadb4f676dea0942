"""YAML as in its 1.2 core schema, read and written so that no value changes its type. Free of torch."""

import math
import re
from typing import Any, cast

import yaml

from tiedlm.config.merge import Raw
from tiedlm.errors import ConfigError, Problem


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
_Dumper.add_multi_representer(str, _represent_text)
