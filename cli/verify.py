"""`tiedlm verify`: do the figures follow from what lies beside them?"""

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .output import print_json

app = options.new_app()


@app.command()
def verify(
    folder: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER",
            help="An experiment's or a run's, as in runs/quickstart[/tied/seed-0].",
            callback=options.folder_given,
        ),
    ],
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Recompute every figure from stored scores. Those that do not hold are named: exit code 1 if any."""
    from tiedlm.comparison.verify import verify as verify_folder

    verified = verify_folder(folder).model_dump(mode="json")
    if as_json:
        print_json(verified)
    else:
        from tiedlm.report.commands.verify import render_verification

        from .console import console

        render_verification(verified, console())
    if verified["failed"]:
        raise typer.Exit(1)
