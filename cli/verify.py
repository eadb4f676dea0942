"""`tiedlm verify`: do the figures follow from what lies beside them?"""

import typer

from . import options
from .help import examples
from .output import print_json

app = options.new_app()


@app.command(epilog=examples("verify", "verify quickstart", "verify runs/quickstart/tied/seed-0"))
def verify(
    folders: options.Folders = None,
    runs_dir: options.RunsDir = options.RUNS_DIR,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Recompute every figure from stored scores. Those that do not hold are named: exit code 1 if any."""
    from tiedlm.comparison.verify_all import verify_all
    from tiedlm.run.find import find_folders
    from tiedlm.talk import Talk

    verified = verify_all(find_folders(folders or [], runs_dir, Talk())).model_dump(mode="json")
    if as_json:
        print_json(verified)
    else:
        from tiedlm.report.commands.verify import render_verification

        from .console import console

        render_verification(verified, console())
    if verified["failed"]:
        raise typer.Exit(1)
