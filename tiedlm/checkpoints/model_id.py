"""What may be the id of a model on the Hugging Face hub. Free of torch."""

import re

_ID = re.compile(r"[\w][\w.-]*(/[\w][\w.-]*)?", flags=re.ASCII)


def is_id(text: str) -> bool:
    """Whether a text could be the id of a model: `name` or `namespace/name`."""
    return _ID.fullmatch(text) is not None and ".." not in text and "--" not in text
