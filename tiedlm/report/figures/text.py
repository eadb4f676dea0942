"""Text for every format: on one line, with spaces that do not break, and names of keys as words."""

import re
import textwrap

_UNBREAKABLE_SPACE = re.compile(
    r"(?<=\d) (?=%|MiB)"
    r"| ?± ?"
    r"|(?<=\bp) (?=[=<])|(?<=\bp [=<]) (?=\d)"
    r"|(?<=,) (?=[+-]?[\d.,]+\])"
)
"""The spaces within a figure: before its unit, around ±, in a p-value, in an interval."""


def one_line(text: str, otherwise: str = "?") -> str:
    """`text` on one line: a space for each blank, `otherwise` for each character that cannot be printed.

    Such a character could steer a terminal, or turn the direction of the text around it.
    """
    return "".join(symbol if symbol.isprintable() else " " if symbol.isspace() else otherwise for symbol in text)


def with_unbreakable_figures(text: str) -> str:
    """`text` with no-break spaces within figures, so that no line ends between a number and its unit."""
    return _UNBREAKABLE_SPACE.sub(lambda gap: gap.group().replace(" ", "\xa0"), text)


def wrapped(text: str, width: int) -> list[str]:
    """`text` on lines of at most `width` letters, none of which ends within a figure; a longer word is broken."""
    return textwrap.wrap(with_unbreakable_figures(one_line(text)), width) or [""]


def capitalized(text: str) -> str:
    """`text` with a capital first letter, the rest as it is."""
    return text[:1].upper() + text[1:]


def key_in_words(key: str) -> str:
    """ "shared embedding" for shared_embedding, "cannot tell" for cannot_tell."""
    return key.replace("_", " ")
