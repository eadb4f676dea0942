"""`tiedlm configs`: the configs that come with the package."""

from pathlib import Path
from typing import Annotated

import typer

from . import options
from .output import print_json

app = options.new_app()
Name = Annotated[str, typer.Argument(metavar="NAME", help="As the list has it, with or without .yaml.")]


@app.callback(invoke_without_command=True)
def configs(context: typer.Context, as_json: options.Json = False, debug: options.Debug = False) -> None:
    """List, show or copy packaged configs."""
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


@app.command("show")
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


@app.command("copy")
def copy(
    name: Name,
    destination: Annotated[
        Path,
        typer.Argument(metavar="FOLDER|FILE", help="Where to; nothing is overwritten.", callback=options.path_given),
    ],
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Copy one to change it, along with those that it extends."""
    from tiedlm.config.copying import copy_config

    copied = copy_config(options.say_which(name), destination)
    if as_json:
        print_json({"copied": [str(path) for path in copied]})
        return
    for path in copied:
        typer.echo(str(path))
