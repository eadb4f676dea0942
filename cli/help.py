"""How help is written: commands in groups, each with the whole of its summary, and examples below."""

import inspect
from typing import Any

from typer.core import TyperGroup


class Group(TyperGroup):
    """A command with commands below it; each stands under its `rich_help_panel`, and no summary is cut."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the lists of commands."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for name in self.list_commands(ctx):
            command: Any = self.get_command(ctx, name)
            groups.setdefault(command.rich_help_panel or "Commands", []).append((name, summary(command.help or "")))
        for heading, rows in groups.items():
            with formatter.section(heading):
                formatter.write_dl(rows, col_max=14)


def summary(text: str) -> str:
    """The first sentence of a help text."""
    return inspect.cleandoc(text).split(". ")[0].splitlines()[0].rstrip(".") + "."


def examples(*lines: str) -> str:
    """Examples for the end of a command's help, each as it is typed."""
    return "\n".join(["\b", "Examples:", *(f"  tiedlm {line}" for line in lines)])
