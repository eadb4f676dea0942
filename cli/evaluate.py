"""`tiedlm evaluate`: a checkpoint again."""

from enum import StrEnum
from typing import Annotated

import typer

from . import options
from .help import examples
from .output import print_json

app = options.new_app()


class Checkpoint(StrEnum):
    """Which weights of a run."""

    LAST = "last"
    BEST = "best"


class Split(StrEnum):
    """The splits of a text."""

    TRAIN = "train"
    VALIDATION = "validation"
    TEST = "test"


TextPlace = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Where the text lies now: data.corpus.file=PATH."),
]


@app.command(epilog=examples("evaluate runs/quickstart/tied/seed-0 --split test"))
def evaluate(
    run: options.RunFolder,
    split: Annotated[Split, typer.Option("--split", help="Which split to score.")] = Split.VALIDATION,
    seq_len: Annotated[
        int | None, typer.Option("--seq-len", min=1, help="Tokens in a window; as in training if none.")
    ] = None,
    stride: Annotated[int | None, typer.Option("--stride", min=1, help="Tokens from one window to the next.")] = None,
    checkpoint: Annotated[
        Checkpoint,
        typer.Option("--checkpoint", help="The last, which runs are compared by, or the best in validation."),
    ] = Checkpoint.LAST,
    settings: TextPlace = None,
    cache_dir: options.CacheDir = None,
    device: options.Device = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Score a split with a trained model. Every token counts once; nothing that is stored changes."""
    from tiedlm.run.reopen import evaluate_run
    from tiedlm.talk import Talk

    evaluated = evaluate_run(
        run,
        split.value,
        seq_len=seq_len,
        stride=stride,
        cache_dir=options.cache_folder(cache_dir),
        device=device,
        checkpoint=checkpoint.value,
        settings=settings or [],
        talk=Talk(),
    )
    if as_json:
        print_json(evaluated)
        return
    from tiedlm.report.commands.evaluate import render_evaluation

    from .console import console

    render_evaluation(evaluated, console())
