"""`tiedlm` in a process of its own, and a small experiment to carry out with it."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

from cli.main import main

ROOT = Path(__file__).parent.parent.parent


TINY = """
name: tiny
seeds: [0]
data: {corpus: {type: text, file: %s}, tokenizer: {type: byte}, seq_len: 16}
model: {num_layers: 1, dim: 16, num_heads: 2}
training: {steps: 3, batch_size: 2, learning_rate: 1e-3, precision: fp32, device: cpu, num_threads: 1}
variants:
  tied: {}
  untied: {model: {tying: {type: untied}}}
"""


def write_tiny(folder: Path) -> Path:
    """A small experiment on a text of its own."""
    text = folder / "text.txt"
    text.write_text("".join(f"Paragraph {number} says ē, and that {number} is a number.\n\n" for number in range(150)))
    config = folder / "tiny.yaml"
    config.write_text(TINY % text)
    return config


def forecast_memory(*arguments: str | Path) -> None:
    """Work out here what the steps of the runs of `tiedlm ARGUMENTS` need.

    The process of such a run finds it in the cache then, and is 2 s faster.
    """
    with contextlib.redirect_stdout(io.StringIO()):
        assert main([*map(str, arguments), "--dry-run", "--json"]) == 0


def start(*arguments: str | Path, cwd: Path, **environment: str) -> "subprocess.Popen[str]":
    """`tiedlm ARGUMENTS` in a process of its own."""
    return subprocess.Popen(
        [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )


def finish(process: "subprocess.Popen[str]") -> tuple[int, str, str]:
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err
