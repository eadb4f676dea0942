"""`tiedlm report`: what is stored of an experiment."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from . import options
from .help import examples
from .output import print_file
from .show import show

if TYPE_CHECKING:
    from tiedlm.report.formats.document import Document

app = options.new_app()


def _file(option: str, what: str) -> Any:
    """An option that names a file to write."""
    return typer.Option(option, metavar="FILE", help=f"{what}; - is stdout.", callback=options.file_given)


Html = Annotated[Path | None, _file("--html", "Write it as one page with charts")]
Markdown = Annotated[Path | None, _file("--markdown", "Write it as Markdown")]
Csv = Annotated[Path | None, _file("--csv", "Write the figures, one a line")]
Latex = Annotated[Path | None, _file("--latex", "Write it as a table of LaTeX")]
Plots = Annotated[
    Path | None,
    typer.Option(
        "--plots",
        metavar="FOLDER",
        help="Write the charts as PNG and SVG (matplotlib).",
        callback=options.folder_given,
    ),
]


@app.command(epilog=examples("report", "report quickstart --details", "report runs/quickstart --html page.html"))
def report(
    folders: options.Folders = None,
    html: Html = None,
    markdown: Markdown = None,
    csv: Csv = None,
    latex: Latex = None,
    plots: Plots = None,
    details: Annotated[bool, typer.Option("--details", help="Show everything that is stored.")] = False,
    runs_dir: options.RunsDir = options.RUNS_DIR,
    as_json: options.Json = False,
    debug: options.Debug = False,
) -> None:
    """Print or write a stored comparison. Nothing is trained."""
    from tiedlm.comparison.reported import reported
    from tiedlm.run.find import find_folders
    from tiedlm.talk import Talk

    given = {"--html": html, "--markdown": markdown, "--csv": csv, "--latex": latex}
    files = {option: file for option, file in given.items() if file is not None}
    _refuse_two_documents(files, as_json)
    found = find_folders(folders or [], runs_dir, Talk())
    _refuse_a_place_that_is_taken(files, found)
    document = reported(found)
    if plots is not None:
        _write_plots(document, plots)
    for option, file in files.items():
        _write(_written(document, option), file)
    if as_json or (not files and plots is None):
        show(document, details, as_json, found[0] if len(found) == 1 else None)


def _refuse_two_documents(files: Mapping[str, Path], as_json: bool) -> None:
    """stdout holds one document."""
    from tiedlm.config.base import ConfigError, Problem

    on_stdout = [option for option, file in files.items() if str(file) == "-"] + (["--json"] if as_json else [])
    if len(on_stdout) > 1:
        first, second = on_stdout[:2]
        raise ConfigError(Problem(second, f"and {first} would both be on stdout: give one of them a file"))


def _refuse_a_place_that_is_taken(files: Mapping[str, Path], folders: Sequence[Path]) -> None:
    """One file holds one document, and what a report is made of is not written over."""
    from tiedlm.config.base import ConfigError, Problem

    taken: dict[Path, str] = {}
    for option, file in files.items():
        place = file.resolve()
        if str(file) != "-" and place in taken:
            raise ConfigError(Problem(option, f"{file} is the file of {taken[place]} too: give it another"))
        is_inside = any(place.is_relative_to(folder.resolve()) for folder in folders)
        if place.suffix in _STORED and place.is_file() and is_inside:
            raise ConfigError(Problem(option, f"{file} is part of what is stored there: give it another file"))
        taken[place] = option


def _write(text: str, file: Path) -> None:
    from tiedlm.files import write_atomic
    from tiedlm.talk import Talk

    if str(file) == "-":
        print_file(text)
        return
    write_atomic(file, text)
    Talk().say(f"written: {file}")


def _write_plots(document: "Document", folder: Path) -> None:
    from tiedlm.report.formats.document import charts_of
    from tiedlm.report.formats.plots import write_charts
    from tiedlm.talk import Talk

    for path in write_charts(charts_of(document), folder):
        Talk().say(f"written: {path}")


def _written(document: "Document", option: str) -> str:
    """The document in the format of an option."""
    from tiedlm.report.formats import document as formats

    writers: Mapping[str, Callable[[Document], str]] = {
        "--html": formats.as_html,
        "--markdown": formats.as_markdown,
        "--csv": formats.as_csv,
        "--latex": formats.as_latex,
    }
    return writers[option](document)


_STORED = (".json", ".jsonl", ".npz", ".pt", ".safetensors", ".yaml")
"""How the names of files end that an experiment's folder is made of."""
