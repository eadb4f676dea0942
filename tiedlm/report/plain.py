"""Names and messages as plain text, whoever wrote them."""


def one_line(text: str, otherwise: str = "?") -> str:
    """`text` on one line: a space for each blank, `otherwise` for whatever else has no shape of its own.

    What has none could steer a terminal, or turn the direction of the text around it.
    """
    return "".join(symbol if symbol.isprintable() else " " if symbol.isspace() else otherwise for symbol in text)
