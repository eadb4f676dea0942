"""The README says what is so: its commands run, its blocks are real output, its example strategy keeps the contract."""

import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from rich.console import Console

from tiedlm.config.find import packaged_configs
from tiedlm.config.yaml_core import load_yaml
from tiedlm.experiment.reading import load_experiment
from tiedlm.initialization import initialize
from tiedlm.report.formats.terminal import render_counts
from tiedlm.tying.config import EmbeddingConfig

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str = "") -> list[str]:
    """The fenced blocks in that language, without the fence's own indentation."""
    found: list[str] = []
    fences = re.finditer(r"^( *)```(\w*)\n(.*?)^ *```$", README, flags=re.MULTILINE | re.DOTALL)
    for indent, named, text in (fence.groups() for fence in fences):
        if named == language:
            found.append(re.sub(f"^{indent}", "", text, flags=re.MULTILINE))
    return found


@pytest.mark.parametrize("config", ["tied.yaml", "equal-parameters"])
def test_the_table_of_counts_is_what_the_command_prints(config: str) -> None:
    from tiedlm.experiment.count_params import count_configs

    out = io.StringIO()
    models = [model.document() for model in count_configs([config], [], Path("unused"))]
    render_counts(models, Console(file=out, width=80))
    (shown,) = [block for block in blocks() if block.startswith(f"$ tiedlm count-params {config}\n")]
    printed = [line.rstrip() for line in out.getvalue().strip("\n").splitlines()]
    assert [line.rstrip() for line in shown.strip("\n").splitlines()[1:]] == printed


def test_every_command_it_names_exists() -> None:
    names = set(re.findall(r"\btiedlm ([a-z][a-z-]*)", " ".join([*blocks(), *re.findall(r"`([^`\n]*)`", README)])))
    shown = subprocess.run(
        [sys.executable, "-m", "cli.main", "--help"], capture_output=True, text=True, cwd=ROOT, check=True
    )
    commands = set(re.findall(r"^  ([a-z-]+)  ", shown.stdout, flags=re.MULTILINE))
    assert {"train", "compare", "count-params"} <= names
    assert names <= commands, "a command that does not exist"


def test_every_config_of_its_table_comes_with_the_package() -> None:
    table = README[README.index("| config |") : README.index("## Your own text")]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("|")]
    named = {name.removesuffix(".yaml") for cell in cells for name in re.findall(r"`([\w.-]+)`", cell)}
    packaged = {path.removesuffix(".yaml") for path in packaged_configs()}
    assert named == {name for name in packaged if not name.startswith("shapes/")}


def test_every_link_inside_it_leads_to_a_section() -> None:
    titles = re.findall(r"^##+ (.*)$", README, flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
    links = re.findall(r"\]\(#([^)]+)\)", README)
    assert links and set(links) <= anchors


def test_its_own_config_loads(tmp_path: Path) -> None:
    (text,) = [block for block in blocks("yaml") if "extends" in block]
    assert isinstance(load_yaml(text, "README"), dict)
    mine = tmp_path / "mine.yaml"
    mine.write_text(text)
    experiment = load_experiment(mine)
    assert list(experiment.variants) == ["tied", "untied", "same-start"]


@pytest.mark.parametrize("folder", ["cli", "configs", "scripts", "tests", "tiedlm"])
def test_the_tree_names_what_is_there(folder: str) -> None:
    (tree,) = [block for block in blocks() if block.startswith("cli/")]
    assert f"{folder}/" in tree and (ROOT / folder).is_dir()
    if folder == "tiedlm":
        listed = re.findall(r"^  (\w+(?:/|\.py))", tree, flags=re.MULTILINE)
        assert all((ROOT / "tiedlm" / name).exists() for name in listed)
        packages = {path.parent.name for path in (ROOT / "tiedlm").glob("*/__init__.py")}
        assert packages <= {name.rstrip("/") for name in listed}


def test_its_example_strategy_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"EmbeddingConfig": EmbeddingConfig, "Literal": Literal}  # which that file has already
    config, module = blocks("python")
    exec(config, names)
    monkeypatch.setattr("tiedlm.tying.config.ScaledConfig", names["ScaledConfig"], raising=False)
    exec(module, names)
    scaled = names["Scaled"](names["ScaledConfig"](), 31, 8)
    initialize(scaled, 0)
    assert torch.equal(scaled.output_weight(), scaled.input_embedding), "it starts as tied"
    scaled.output_weight().sum().backward()
    assert all(parameter.grad is not None for parameter in scaled.parameters())
    assert len(list(scaled.parameters())) == 2
