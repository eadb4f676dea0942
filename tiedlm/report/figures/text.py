"""Names, messages and figures as plain text, whoever wrote them."""

import re

_GLUE = re.compile(
    r"(?<=\d) (?=%|MiB)"
    r"| ?± ?"
    r"|(?<=\bp) (?=[=<])|(?<=\bp [=<]) (?=\d)"
    r"|(?<=,) (?=[+-]?[\d.,]+\])"
)
"""The spaces within figures."""


def one_line(text: str, otherwise: str = "?") -> str:
    """`text` on one line: a space for each blank, `otherwise` for whatever else has no shape of its own.

    What has none could steer a terminal, or turn the direction of the text around it.
    """
    return "".join(symbol if symbol.isprintable() else " " if symbol.isspace() else otherwise for symbol in text)


def glued(text: str) -> str:
    """`text` with spaces that do not break within a figure: before its unit, around ±, in an interval."""
    return _GLUE.sub(lambda gap: gap.group().replace(" ", "\xa0"), text)
