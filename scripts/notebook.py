"""Run a notebook of docs/ from top to bottom and store its outputs in it. Called by `notebook`."""

import os
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat

ROOT = Path(__file__).parent.parent
EXAMPLE = ROOT / "docs" / "example.ipynb"
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_FOLDERS = ("JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR", "IPYTHONDIR")
"""Where Jupyter keeps files of its own, and reads settings of the user."""


def read(path: Path) -> Any:
    """The notebook in a file."""
    found: Any = nbformat
    return found.read(path, as_version=4)


def executed(path: Path, folder: Path) -> Any:
    """The notebook in a file with new outputs, run in one kernel that works in a new folder inside `folder`."""
    notebook = read(path)
    work = folder / "work"
    work.mkdir()
    sources = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sources)}
    environment |= {variable: str(folder / variable) for variable in _FOLDERS}
    client = nbclient.NotebookClient(
        notebook, timeout=300, record_timing=False, resources={"metadata": {"path": str(work)}}
    )
    client.execute(env=environment)
    notebook.metadata = {"kernelspec": _KERNEL, "language_info": {"name": "python"}}
    return notebook


def main() -> None:
    """Store the outputs anew."""
    with tempfile.TemporaryDirectory() as folder:
        notebook: Any = executed(EXAMPLE, Path(folder))
    writer: Any = nbformat
    EXAMPLE.write_text(writer.writes(notebook) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
