"""What each key of a config means: the text below its field in the source, read where it is asked for."""

import ast
import inspect
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel


@dataclass(frozen=True)
class FieldText:
    """The text below a field, and where it stands: "tiedlm/training/config.py", line 57."""

    text: str
    file: str
    line: int


def field_texts(model: type[BaseModel]) -> Mapping[str, FieldText]:
    """The text of each field that has one, in the class or in one that it is derived from."""
    texts: dict[str, FieldText] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            texts |= _texts_in(base.__module__).get(base.__qualname__, {})
    return texts


@cache
def _texts_in(module: str) -> Mapping[str, dict[str, FieldText]]:
    """Of each class of a module the texts of its own fields."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    file = f"{module.replace('.', '/')}.py"
    return {node.name: dict(_texts_of(node, file)) for node in tree.body if isinstance(node, ast.ClassDef)}


def _texts_of(node: ast.ClassDef, file: str) -> Iterator[tuple[str, FieldText]]:
    for field, below in zip(node.body, node.body[1:], strict=False):
        if not (isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)):
            continue
        if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant) and isinstance(below.value.value, str):
            yield field.target.id, FieldText(" ".join(below.value.value.split()), file, field.lineno)
