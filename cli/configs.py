"""`tiedlm configs`: the configs that come with the package."""

from typing import Annotated

import typer

from . import completion, options
from .help import examples
from .output import print_json

app = options.new_app()
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="As the list has it, with or without .yaml.", autocompletion=completion.config_names
    ),
]


@app.callback(
    invoke_without_command=True,
    epilog=examples("configs", "configs copy quickstart mine.yaml", "configs explain warmup"),
)
def configs(context: typer.Context, as_json: options.Json = False, debug: options.Debug = False) -> None:
    """List, show, copy or explain configs."""
    if context.invoked_subcommand is None:
        show_list(as_json)


@app.command("list")
def show_list(as_json: options.Json = False, debug: options.Debug = False) -> None:
    """All of them, with what each is for."""
    from tiedlm.config.copying import purpose
    from tiedlm.config.find import packaged_configs

    purposes = {name: purpose(path) for name, path in packaged_configs().items()}
    if as_json:
        print_json({"configs": [{"name": name, "purpose": words} for name, words in purposes.items()]})
        return
    from tiedlm.report.commands.configs import render_config_list

    from .console import console

    render_config_list(purposes, console())


@app.command("show", epilog=examples("configs show quickstart"))
def show(name: Name, as_json: options.Json = False, debug: options.Debug = False) -> None:
    """Print one, as it is written."""
    from tiedlm.config.file import read_text
    from tiedlm.config.find import find_config

    path = find_config(options.say_which(name))
    text = read_text(path)
    if as_json:
        print_json({"name": name, "path": str(path), "text": text})
    else:
        typer.echo(text, nl=False)


@app.command("copy", epilog=examples("configs copy soft experiments/", "configs copy quickstart mine.yaml"))
def copy(
    name: Name,
    destination: Annotated[
        str,
        typer.Argument(
            metavar="FOLDER/|FILE",
            help="Where to; a folder is made, nothing is overwritten.",
            callback=options.text_path_given,
        ),
    ],
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Copy one to change it, along with those that it extends."""
    from tiedlm.config.copying import copy_config
    from tiedlm.talk import Talk

    copied = copy_config(options.say_which(name), destination)
    if as_json:
        print_json({"copied": list(map(str, copied.configs)), "schema": list(map(str, copied.schemas))})
        return
    for path in copied.configs:
        typer.echo(str(path))
    for path in copied.schemas:
        Talk().say(f"beside it, for editors: {path}")


@app.command(
    "explain", epilog=examples("configs explain training.warmup", "configs explain model", "configs explain tying")
)
def explain(
    key: Annotated[
        str,
        typer.Argument(
            metavar="KEY",
            help="A dotted key, its last part, or the mapping above keys.",
            show_default=False,
            autocompletion=completion.config_keys,
        ),
    ] = "",
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Say what a key of a config means. Its type, its default and where it is defined; without KEY all keys."""
    from tiedlm.experiment.explain import document
    from tiedlm.experiment.explain import explain as explain_key

    explained = explain_key(key)
    keys, listed = (list(map(document, those)) for those in (explained.keys, explained.listed))
    if as_json:
        print_json({"keys": [*keys, *listed]})
        return
    from tiedlm.report.commands.explain import render_keys

    from .console import console

    render_keys(keys, listed, console())


@app.command("schema", epilog=examples("configs schema > tiedlm.schema.json"))
def schema(as_json: options.Json = False, debug: options.Debug = False) -> None:
    """Print the JSON Schema of config files. Editors complete and check YAML with it."""
    from tiedlm.experiment.file_schema import schema_text

    typer.echo(schema_text(), nl=False)
