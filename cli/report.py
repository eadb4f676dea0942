"""`tiedlm report`: what is stored of an experiment."""

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .output import console, print_json


def report(
    experiment: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="An experiment's folder, as in runs/quickstart.")
    ],
    markdown: Annotated[
        Path | None, typer.Option("--markdown", metavar="FILE", help="Write it as Markdown; - is stdout.")
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="Show everything that is stored.")] = False,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Print or write a stored comparison. Nothing is computed."""
    from tiedlm.experiment.comparison import load_comparison

    comparison = load_comparison(experiment)
    if markdown is not None:
        from tiedlm.files import write_atomic
        from tiedlm.report.markdown import comparison_markdown
        from tiedlm.talk import Talk

        text = comparison_markdown(comparison)
        if str(markdown) == "-":
            typer.echo(text, nl=False)
            return
        write_atomic(markdown, text)
        Talk().say(f"written: {markdown}")
    if as_json:
        print_json(comparison.model_dump(mode="json"))
    elif markdown is None:
        from tiedlm.report.tables import render_comparison

        render_comparison(comparison, console(), details)
