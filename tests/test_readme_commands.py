"""The commands in the blocks of README and docs run, and print what is shown below them."""

import itertools
import re
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cli.app import run
from tests.support.finished_runs import store_run
from tests.support.pages import PAGES, Command, page
from tests.support.planted_checkpoints import plant_examples
from tests.support.small_runs import carry_out, metrics
from tiedlm.experiment.count_params import count_configs
from tiedlm.experiment.plan import pick, plan
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.folder import RunFolder, to_json
from tiedlm.run.layout import Run

COMMANDS = [command for found in PAGES for command in found.commands()]
SMALL = ["model.dim=16", "model.num_layers=1", "model.num_heads=2", "data.seq_len=64", "data.tokenizer={type: byte}"]
SMALL += ["training.steps=3", "training.batch_size=1", "training.evaluate_every=2", "training.checkpoint_every=2"]
SMALL += ["training.precision=fp32", "training.device=cpu", "training.num_threads=1"]
ON_ANY_MACHINE = ["--set", "training.precision=bf16", "--set", "training.device=cpu"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the quickstart is done: its ten runs with made-up scores, and the counts of its models."""
    home = tmp_path_factory.mktemp("finished")
    counts = {model.name: model.document() for model in count_configs(["quickstart"], [], home)}
    draw = np.random.default_rng(0)
    for planned in plan(load_experiment("quickstart"), home / "runs"):
        store_run(planned, draw)
        folder = RunFolder(planned.directory)
        result = folder.result()
        assert result is not None
        sizes = {key: counts[planned.config.variant][key] for key in type(result.parameters).model_fields}
        splits = {"train": result.splits["validation"], **result.splits}
        shutil.copy(folder.evaluation_file("validation"), folder.evaluation_file("train"))
        document = result.model_copy(update={"splits": splits}).model_dump(mode="json") | {"parameters": sizes}
        folder.result_file.write_text(to_json(document), encoding="utf-8")
    assert run(["compare", "quickstart", "--runs-dir", str(home / "runs")]) == 0
    return home


def cache_beside(run: Run) -> Path:
    """A cache that holds the text of this run alone."""
    return run.runs_dir.parent / "cache"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One run under the names of the quickstart, of a small model: with a checkpoint."""
    home = tmp_path_factory.mktemp("trained")
    text = home / "text.txt"
    text.write_text("".join(f"Paragraph {number} says that it is one.\n\n" for number in range(100)))
    settings = [*SMALL, f"data.corpus={{type: text, file: {text}}}"]
    small = Run(pick(load_experiment("quickstart", settings), "tied", 0), home / "runs")
    carry_out(small, cache=cache_beside(small))
    return small


def without_time(line: str) -> str:
    """A line without the time that something takes on this machine."""
    return re.sub(r"^Time: about [\d.,]+ \w+,", "Time: about as long as here,", line.rstrip())


def rows_of(printed: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Label and cells of each row of the tables in an output."""
    is_row = False
    for line in printed:
        is_row = (is_row or line.startswith("──")) and bool(line.strip())
        cells = re.split(r"\s{2,}", line.strip())
        if is_row and len(cells) > 1:
            yield re.sub(r"\d+", "N", cells[0]), cells[1:]


def is_of(command: Command, *names: str) -> bool:
    return command.words[0] in names


def config_of(command: Command) -> str:
    """The config that it carries out or prepares, "" where that is none."""
    if not is_of(command, "train", "compare", "prepare"):
        return ""
    words = [word for word in command.words[1:] if word != "--config"]
    return "" if not words or words[0].startswith(("-", "runs/")) else words[0]


def is_shown_whole(command: Command) -> bool:
    """Whether what is shown below it hangs on nothing but the code."""
    is_refused = "".join(command.output[:1]).startswith("tiedlm: ")
    return is_refused or is_of(command, "count-params", "configs", "audit") or "--dry-run" in command.words


SHOWN = [command for command in COMMANDS if "".join(command.output).strip()]


@pytest.mark.parametrize("command", [command for command in SHOWN if is_shown_whole(command)], ids=str)
def test_the_output_shown_is_what_it_prints(
    command: Command, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    is_refused = command.output[0].startswith("tiedlm: ")
    monkeypatch.chdir(finished if is_refused else tmp_path)
    if is_of(command, "audit"):
        plant_examples(tmp_path)
    monkeypatch.setenv("TIEDLM_CACHE", str(tmp_path / "cache"))  # a text that is prepared changes what is said of it
    code = run([*command.words, *(ON_ANY_MACHINE if "--dry-run" in command.words else [])])
    printed = capsys.readouterr()
    has_findings = is_of(command, "audit") and any(line.startswith("- ") for line in command.output)
    assert code == (2 if is_refused else 3 if has_findings else 0), printed.err
    said = printed.err if is_refused else printed.out
    shown = "\n".join(command.output).strip("\n").splitlines()
    assert list(map(without_time, said.strip("\n").splitlines())) == list(map(without_time, shown))


def test_all_output_that_hangs_on_nothing_else_is_checked_and_the_rest_is_known() -> None:
    others = [command for command in SHOWN if not is_shown_whole(command)]
    assert {command.words for command in others} == {TRAIN}


TRAIN = ("train", "--config", "quickstart", "--variant", "tied", "--seed", "0")


def test_a_finished_run_is_printed_with_the_rows_that_are_shown(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(finished)
    assert run(TRAIN) == 0
    today = dict(rows_of(capsys.readouterr().out.splitlines()))
    for command in COMMANDS:
        if command.words == TRAIN:
            shown = dict(rows_of(command.output))
            is_abridged = "..." in command.output
            assert [label for label in today if label in shown or not is_abridged] == [*shown], command.page
            exact = [label for label in shown if label in ("parameters", "body", "shared embedding", "FLOPs per token")]
            assert exact and all(shown[label] == today[label] for label in exact)


def test_the_readme_shows_no_more_of_a_run_than_the_page_of_commands() -> None:
    abridged, whole = (next(page(name).commands()) for name in ("README.md", "docs/commands.md"))
    (abridged,) = [command for command in page("README.md").commands() if command.words == TRAIN]
    assert whole.words == TRAIN
    left = iter(whole.output)
    assert all(line in left for line in abridged.output if line != "...")


def test_the_quickstart_is_printed_with_the_rows_that_are_shown(
    finished: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(finished)
    assert run(["compare", "quickstart"]) == 0
    today = dict(rows_of(capsys.readouterr().out.splitlines()))
    (block,) = [block for block in page("README.md").blocks() if "95 % interval" in block]
    shown = dict(rows_of(block.splitlines()))
    assert [*shown] == [*today]
    sizes = ("parameters", "against untied")
    assert {label: shown[label] for label in sizes} == {label: today[label] for label in sizes}


@pytest.mark.parametrize("command", [one for one in COMMANDS if not (one.output and is_shown_whole(one))], ids=str)
def test_a_command_in_a_block_runs(
    command: Command, finished: Path, trained: Run, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("TIEDLM_CACHE", str(cache_beside(trained)))
    monkeypatch.chdir(trained.runs_dir.parent if is_of(command, "evaluate", "generate") else finished)
    if config_of(command) not in ("", "quickstart") or is_of(command, "prepare"):  # which would take long
        settings = [word for option, word in itertools.pairwise(command.words) if option == "--set"]
        assert load_experiment(config_of(command), settings).variants
    else:
        assert run(command.words) == 0, capsys.readouterr().err


def test_a_run_leaves_the_files_that_the_page_names(trained: Run) -> None:
    run_folder = page("docs/run-folder.md")
    (tree,) = [block for block in run_folder.blocks() if block.startswith("runs/<experiment>/")]
    sometimes = {"failure.json", "rungs.json", "tokenizer.json", "tensorboard/", "wandb/", "lock.json"}
    named = {word.rstrip(",") for word in re.findall(r"^    (\S+(?:, \S+)*) ", tree, flags=re.MULTILINE)}
    named = {word for words in named for word in words.split(", ")}
    there = {f"{path.name}/" if path.is_dir() else path.name for path in trained.directory.iterdir()}
    assert {name.partition("/")[0] for name in named - sometimes} == {name.rstrip("/") for name in there}
    assert {path.name for path in (trained.directory / "evaluation").iterdir()} <= {*re.findall(r"\w+\.npz", tree)}
    checkpoint = trained.directory / "checkpoint" / "step-3"
    files = {row[0].strip("`") for row in run_folder.table("file in `checkpoint/step-<n>/`")}
    assert {path.name for path in checkpoint.iterdir()} == files - {"state.safetensors"}
    keys = {key for line in metrics(trained) for key in line}
    assert keys <= {*run_folder.spans}


def test_plain_torch_reads_the_weights_as_the_page_does(trained: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(trained.runs_dir.parent)
    (program,) = page("docs/run-folder.md").blocks("python")
    names: dict[str, Any] = {}
    exec(program.replace("step-450", "step-3"), names)
    assert names["embedding"].shape == (257, 16)
