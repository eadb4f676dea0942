"""`tiedlm prepare`: text and tokenizer ahead of time."""

from typing import Annotated

import typer

from . import completion, options
from .help import examples
from .output import print_json

app = options.new_app()


@app.command(epilog=examples("prepare quickstart", "prepare mine.yaml"))
def prepare(
    config: Annotated[
        str,
        typer.Argument(
            metavar="CONFIG", help="A file, or a name from `tiedlm configs`.", autocompletion=completion.config_names
        ),
    ],
    settings: options.Settings = None,
    cache_dir: options.CacheDir = None,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Get text and tokenizer ready. What is there already is not made again."""
    from tiedlm.data.description import describe
    from tiedlm.data.prepare import prepare as prepare_data
    from tiedlm.experiment.reading import load_experiment
    from tiedlm.talk import Talk

    experiment = load_experiment(options.say_which(config), settings or [])
    wanted = list({run.data.model_dump_json(): run.data for run in experiment.variants.values()}.values())
    prepared = [describe(prepare_data(data, options.cache_folder(cache_dir), Talk())) for data in wanted]
    if as_json:
        print_json({"prepared": prepared})
        return
    from tiedlm.report.commands.prepare import render_prepared_data

    from .console import console

    render_prepared_data(prepared, console())
