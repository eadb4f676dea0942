"""`tiedlm audit`: is this checkpoint tied?"""

from typing import Annotated

import typer

from . import options
from .help import examples
from .output import print_json

app = options.new_app()

FINDINGS = 3
UNREADABLE = 2


@app.command(epilog=examples("audit models/mine", "audit openai-community/gpt2 model.gguf", "audit runs/quickstart"))
def audit(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH|ID", help="Folders or files of checkpoints, run folders, ids of the hub."),
    ],
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", min=1, help="Compare N blocks of the matrices, not all.")
    ] = None,
    revision: Annotated[
        str | None, typer.Option("--revision", help="Branch, tag or commit of a model on the hub.")
    ] = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say of checkpoints whether they are tied. By their bytes, their config, and what loaders make of the two.

    Exit codes: 0 nothing found, 3 something found, 2 one could not be read.
    """
    from tiedlm.run.audit import audit_all
    from tiedlm.talk import Talk

    audited = audit_all(paths, sample=sample, revision=revision, talk=Talk())
    document = audited.document()
    if as_json:
        print_json(document)
    else:
        from tiedlm.report.commands.audit import render_audit

        from .console import console

        render_audit(document["models"], console())
    for error in audited.errors:
        Talk("tiedlm: ").say(str(error))
    if audited.errors or audited.has_findings:
        raise typer.Exit(UNREADABLE if audited.errors else FINDINGS)
