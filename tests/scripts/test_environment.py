"""What an installation says: what is large, how much there is, and an end; not each of a hundred packages."""

import subprocess
from pathlib import Path

SCRIPTS = Path(__file__).parent.parent.parent / "scripts"
PIP = """\
Obtaining file:///home/somebody/tiedlm
  Installing build dependencies: started
  Installing build dependencies: finished with status 'done'
Collecting torch==2.9.1 (from -c constraints.txt (line 3))
  Downloading torch-2.9.1-cp311-cp311-manylinux_2_28_x86_64.whl.metadata (30 kB)
Collecting numpy (from tiedlm==0.1.0)
  Using cached numpy-2.4.1-cp311-cp311-manylinux_2_27_x86_64.whl (16.9 MB)
Downloading torch-2.9.1-cp311-cp311-manylinux_2_28_x86_64.whl (899.8 MB)
Downloading https://somewhere.example/whl/nvidia_cublas_cu12-12.8.4.1-py3-none-manylinux_2_27_x86_64.whl (1.2 GB)
Downloading sympy-1.14.0-py3-none-any.whl (6.3 MB)
Downloading typer-0.16.0-py3-none-any.whl (46 kB)
Downloading rich-14.0.0-py3-none-any.whl (1.2 MB)
Building wheels for collected packages: tiedlm
Installing collected packages: mpmath, typing-extensions, torch, tiedlm
Successfully installed mpmath-1.3.0 tiedlm-0.1.0 torch-2.9.1 typing-extensions-4.15.0
"""


def in_bash(program: str, given: str = "") -> "subprocess.CompletedProcess[str]":
    program = f"source {SCRIPTS / 'environment.sh'}; {program}"
    return subprocess.run(["bash", "-c", program], input=given, capture_output=True, text=True)


def test_what_pip_prints_is_told_in_short() -> None:
    assert in_bash("in_short", PIP).stdout.splitlines() == [
        "  numpy, 16.9 MB",
        "  torch, 899.8 MB",
        "  nvidia_cublas_cu12, 1.2 GB",
        "  sympy, 6.3 MB",
        "  installing 4 packages",
        "  installed",
    ]


def test_an_installation_that_fails_is_a_failure_with_what_pip_says_of_it(tmp_path: Path) -> None:
    """As where a package is not there: pip's own words, and nothing is marked as installed."""
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\n[ "$3" = --version ] && exit 0\necho "ERROR: No matching distribution" >&2\nexit 1\n')
    python.chmod(0o755)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).touch()
    done = in_bash(f"root={tmp_path}; bin=$root/.venv/bin; environment")
    assert done.returncode == 1
    assert "ERROR: No matching distribution" in done.stderr
    assert not list((tmp_path / ".venv").glob("installed*"))
