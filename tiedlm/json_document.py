"""How every JSON document is written that a command prints or a page holds."""

import json
import math
from typing import Any


def json_document(document: Any, ascii_only: bool = False) -> str:
    """One document that ends in a newline; a figure that is not finite is null."""
    return json.dumps(_finite(document), indent=1, allow_nan=False, ensure_ascii=ascii_only) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
