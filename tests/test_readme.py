"""README and docs: short pages, links that lead somewhere, and no key, option, command or file that does not exist."""

import itertools
import re
import shlex
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal

import pytest
import torch

from cli.app import COMMANDS, all_commands, command
from tests.support.pages import PAGES, ROOT, Page, page
from tests.support.vocabulary import EXAMPLE, check_mapping, config_keys, is_key, is_written, words
from tiedlm.config.base import Config
from tiedlm.config.find import packaged_configs
from tiedlm.config.yaml_core import load_yaml
from tiedlm.experiment.count_params import count_configs
from tiedlm.experiment.reading import load_experiment, load_shape
from tiedlm.initialization import initialize
from tiedlm.model.config import TransformerConfig
from tiedlm.training.config import TrainingConfig
from tiedlm.tying.base import Tying
from tiedlm.tying.config import EmbeddingConfig

README, TYING = page("README.md"), page("docs/tying.md")
ELSEWHERE = {
    *("n_layer", "n_embd", "n_head", "block_size", "num_hidden_layers", "hidden_size", "num_attention_heads"),
    *("tie_word_embeddings", "transformers", "to_empty", "load_state_dict(assign=True)", "torch.optim.AdamW"),
    *("clip_grad_norm_", "Trainer", "nn.Parameter", "a.weight = b.weight", "HF_HOME", "NO_COLOR"),
    *("source .venv/bin/activate", "pip install torch==2.13.0", ".venv", "...", "again", "shapes/*"),
    *("$XDG_CACHE_HOME/tiedlm", "evaluation/*.npz"),
}
"""Names of other projects, and what stands in an example alone."""
PATH = re.compile(r"(tiedlm|cli|configs|docs|scripts|tests)/[\w./-]*")


@cache
def options() -> dict[str, set[str]]:
    """The options of each command, and of `tiedlm` itself under ""."""
    itself = {word for parameter in all_commands().params for word in parameter.opts}
    return {"": itself} | {name: set(options_of(command(name))) for name in COMMANDS}


def options_of(found: Any) -> Iterator[str]:
    for parameter in found.params:
        yield from (word for word in parameter.opts if word.startswith("--"))
    yield "--help"
    for inner in getattr(found, "commands", {}).values():
        yield from options_of(inner)


def parse(arguments: list[str]) -> None:
    """Let a command read its words, and no more; raises where it does not take them."""
    found = command(arguments[0])
    rest = arguments[1:]
    while rest and rest[0] in getattr(found, "commands", {}):
        found, rest = found.commands[rest[0]], rest[1:]
    found.make_context(arguments[0], rest)


def check_settings(arguments: list[str]) -> None:
    for option, setting in itertools.pairwise(arguments):
        if option == "--set" and setting != "KEY=VALUE":
            assert is_key(setting.partition("=")[0]), setting


def test_the_readme_and_every_page_are_short() -> None:
    assert len(README.text.splitlines()) < 220
    assert {found.name: len(found.text.splitlines()) for found in PAGES if len(found.text.splitlines()) >= 250} == {}


@pytest.mark.parametrize("found", PAGES, ids=str)
def test_every_link_leads_to_a_heading(found: Page) -> None:
    by_path = {other.path: other for other in PAGES}
    for path, anchor in found.links:
        assert path.exists(), path
        assert not anchor or anchor in by_path[path].anchors, f"{path.name}#{anchor}"


def test_every_page_is_reached_from_the_readme_and_has_one_title() -> None:
    linked = {path for path, _ in README.links if path.suffix == ".md"}
    assert {found.path for found in PAGES} == {README.path} | linked
    for found in PAGES:
        assert len(re.findall(r"^# ", found.prose, flags=re.MULTILINE)) == 1, found.name


@pytest.mark.parametrize("found", PAGES, ids=str)
def test_every_command_it_writes_in_a_sentence_is_taken(found: Page) -> None:
    for span in found.spans:
        match shlex.split(span) if span.startswith(("tiedlm ", "--")) else []:
            case ["tiedlm", "COMMAND", *_]:
                pass
            case ["tiedlm", *arguments]:
                assert arguments[0] in COMMANDS, span
                check_settings(arguments)
                parse(arguments)
            case [option, *values]:
                assert any(option in known for known in options().values()), span
                check_settings([option, *values])


def test_the_page_of_commands_names_all_of_them_in_a_table_and_a_section() -> None:
    commands = page("docs/commands.md")
    assert {row[0].strip("`") for row in commands.table("command")} == set(COMMANDS)
    assert set(COMMANDS) <= commands.anchors


@pytest.mark.parametrize("found", PAGES, ids=str)
def test_every_file_of_the_repository_that_it_names_is_there(found: Page) -> None:
    for span in [*found.spans, *" ".join(found.blocks()).split()]:
        named = PATH.match(span)
        if named is None or span.startswith(("tiedlm/tying/scaled", "scripts/environment")):
            continue
        assert (ROOT / named[0]).exists() or (ROOT / f"{named[0]}.py").exists(), span
    for span in found.spans:
        if span.startswith("scripts/"):
            script, *arguments = span.split()
            source = (ROOT / f"{script}.py").read_text(encoding="utf-8") if arguments else ""
            assert all(f'"{word}"' in source for word in arguments if word.startswith("--")), span


@pytest.mark.parametrize("found", PAGES, ids=str)
def test_every_key_and_word_in_code_font_exists(found: Page) -> None:
    for span in found.spans:
        if span.startswith(("tiedlm ", "--", "case ", "pip install -e")) or PATH.match(span) or span in ELSEWHERE:
            continue
        mapping = re.fullmatch(r"[a-z][\w.]*: .+|\{.+: .+\}", span)
        if mapping:
            check_mapping(load_yaml(span, found.name))
        elif re.match(r"(data|model|training|evaluation|tying)\.(?!safetensors)", span):
            assert is_key(span), span
        else:
            plain = re.sub(r"^runs/<experiment>/|/$", "", span.partition("=")[0].partition("(")[0])
            exists = is_key(plain) or plain in words() or is_written(plain)
            assert exists or not re.search(r"[A-Za-z]", plain), span


def test_every_config_of_the_table_comes_with_the_package() -> None:
    cells = [row[0] for row in page("docs/experiments.md").table("config")]
    named = {name.removesuffix(".yaml") for cell in cells for name in re.findall(r"`([\w.-]+)`", cell)}
    packaged = {path.removesuffix(".yaml") for path in packaged_configs()}
    assert named == {name for name in packaged if not name.startswith("shapes/")}


def test_every_shape_of_the_table_has_the_parameters_that_it_says() -> None:
    rows = page("docs/models.md").table("name")
    shapes = [row[0].strip("`") for row in rows]
    assert {f"shapes/{name}.yaml" for name in shapes} == {path for path in packaged_configs() if "/" in path}
    for (name, published, *counts), shape in zip(rows, shapes, strict=True):
        tied, untied = count_configs([shape], [], Path("unused"))
        assert [f"{model.counts.total:,}" for model in (tied, untied)] == counts, name
        assert load_shape(shape).tying.type == published


def test_the_exact_counts_of_the_table_of_configs_are_those_of_their_models() -> None:
    for cell, what, *_ in page("docs/experiments.md").table("config"):
        shown = re.findall(r"\d{1,3}(?:,\d{3}){2,}", what)
        configs = [name for name in re.findall(r"`([\w.-]+)`", cell) if shown]
        totals = {f"{model.counts.total:,}" for model in count_configs(configs, [], Path("unused")) if configs}
        assert set(shown) <= totals, cell


def test_the_counts_of_the_strategies_are_those_of_the_command() -> None:
    rows = TYING.table("variant")
    models = {model.name: model.counts for model in count_configs(["dial"], [], Path("unused"))}
    assert [row[0].strip("`") for row in rows] == [*models]
    for name, *shown in rows:
        counts = models[name.strip("`")]
        parts = [counts.parts[f"{part}_embedding"] for part in ("input", "output", "shared")]
        assert shown[:4] == [f"{count:,}" for count in (*parts, counts.total)], name
        assert shown[-1] == f"{counts.flops_per_token:,}", name


def test_every_strategy_is_in_the_table() -> None:
    types = config_keys()["model.tying.type"]
    assert {row[0].strip("`") for row in TYING.table("`model.tying.type`")} == types


@pytest.mark.parametrize(
    ("name", "head", "config"),
    [
        ("docs/experiments.md", "key of `training`", TrainingConfig),
        ("docs/models.md", "key of `model`", TransformerConfig),
    ],
)
def test_the_defaults_of_a_table_are_those_of_the_config(name: str, head: str, config: type[Config]) -> None:
    num_checked = 0
    for cell, stated, *_ in page(name).table(head):
        keys, defaults = re.findall(r"`(\w+)`", cell), stated.replace("`", "").split(", ")
        for key, default in zip(keys, defaults, strict=False):
            field = config.model_fields[key]
            if default == "required" and len(defaults) == len(keys):
                assert field.is_required(), key
                num_checked += 1
            elif re.fullmatch(r"[\w.-]+|\[\]", default) and not field.is_required():
                wanted = load_yaml(default, name)
                assert field.default == (tuple(wanted) if isinstance(wanted, list) else wanted), key
                num_checked += 1
    assert num_checked > 8


@pytest.mark.parametrize("found", PAGES, ids=str)
def test_every_config_it_shows_loads(found: Page, tmp_path: Path) -> None:
    for text in found.blocks("yaml"):
        shown = tmp_path / "shown.yaml"
        shown.write_text(text if "extends" in text else f"extends: quickstart\n{text}", encoding="utf-8")
        experiment = load_experiment(shown)
        if found is README:
            assert list(experiment.variants) == ["tied", "untied", "same-start"]


@pytest.mark.parametrize("folder", ["cli", "configs", "docs", "scripts", "tests", "tiedlm"])
def test_the_tree_names_what_is_there(folder: str) -> None:
    (tree,) = [block for block in README.blocks() if block.startswith("cli/")]
    assert f"{folder}/" in tree and (ROOT / folder).is_dir()
    if folder == "tiedlm":
        listed = re.findall(r"^  (\w+(?:/|\.py))", tree, flags=re.MULTILINE)
        assert all((ROOT / "tiedlm" / name).exists() for name in listed)
        packages = {path.parent.name for path in (ROOT / "tiedlm").glob("*/__init__.py")}
        assert packages <= {name.rstrip("/") for name in listed}


def test_the_example_strategy_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    known: dict[str, Any] = {"EmbeddingConfig": EmbeddingConfig, "Literal": Literal}  # which that file has already
    config, module = TYING.blocks("python")
    exec(config, known)
    monkeypatch.setattr("tiedlm.tying.config.ScaledConfig", known["ScaledConfig"], raising=False)
    exec(module, known)
    scaled = known["Scaled"](known["ScaledConfig"](), 31, 8)
    assert scaled.__class__.__name__ == "Scaled" and known["ScaledConfig"]().type == EXAMPLE
    initialize(scaled, 0)
    assert torch.equal(scaled.output_weight(), scaled.input_embedding), "it starts as tied"
    scaled.output_weight().sum().backward()
    assert all(parameter.grad is not None for parameter in scaled.parameters())
    assert len(list(scaled.parameters())) == 2


def test_the_contract_has_the_methods_that_the_page_lists() -> None:
    for call, duty, *_ in TYING.table("method"):
        name = re.match(r"`(\w+)\(", call)
        assert name and callable(getattr(Tying, name[1])), call
        assert duty in ("must", "may")
