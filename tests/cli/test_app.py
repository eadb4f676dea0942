"""The command line: exit codes, data on stdout and talk on stderr, one JSON document whatever happens."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from cli.app import COMMANDS as COMMANDS_WITH_SUMMARIES
from cli.app import tell
from cli.main import main
from cli.output import print_json, print_text
from tests.support.command_line import ROOT, TINY, finish, forecast_memory, start, write_tiny
from tests.support.small_runs import carry_out
from tiedlm.config.base import ConfigError, Problem
from tiedlm.errors import Interrupted, RunError
from tiedlm.experiment.plan import pick
from tiedlm.experiment.reading import load_experiment
from tiedlm.run.layout import Run

LONG = "x" * 300
COMMANDS = tuple(COMMANDS_WITH_SUMMARIES)


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A folder in which `tiedlm compare tiny.yaml --json` has run for 200 steps, its stdout and its stderr, two pipes.

    One of the two runs was there before.
    """
    folder = tmp_path_factory.mktemp("compared")
    config = write_tiny(folder)
    config.write_text(config.read_text().replace("steps: 3", "steps: 200"))
    carry_out(Run(pick(load_experiment(config), "tied"), folder / "runs"), cache=folder / "cache")
    forecast_memory("compare", config)
    code, out, err = finish(start("compare", config, "--json", cwd=folder))
    assert code == 0, err
    assert "reading" in err
    return folder, out, err


@pytest.fixture(scope="module")
def compared(command: tuple[Path, str, str]) -> tuple[Path, dict[str, Any]]:
    """A folder in which `tiedlm compare tiny.yaml --json` has run, and what it printed."""
    return command[0], json.loads(command[1])


def error_in(out: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(out)
    assert list(document) == ["error"]
    assert set(document["error"]) == {"kind", "key", "message"}
    error: dict[str, Any] = document["error"]
    return error


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--help"], []):
        assert main(words) == 0
        out, err = capsys.readouterr()
        assert all(f"\n  {command} " in out for command in COMMANDS)
        assert err == ""
        headings = [line for line in out.splitlines() if re.fullmatch(r"[A-Z]\w+:", line)]
        assert headings == ["Options:", "Run:", "Look:", "Models:", "Configs:"]


@pytest.mark.parametrize("words", [["--help"], ["configs", "--help"]])
def test_in_a_narrow_terminal_the_summary_of_a_command_is_whole(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    assert main(words) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 50
    rows = out.split("Options:")[1]
    assert "..." not in rows.replace("COMMAND [ARGS]...", "")
    summaries = COMMANDS_WITH_SUMMARIES.values() if words == ["--help"] else ["Print the JSON Schema of config files."]
    assert all(summary in " ".join(rows.split()) for summary in summaries)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_json_and_debug(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([command, "--help"]) == 0
    out = capsys.readouterr().out
    assert "--json" in out
    assert "--debug" in out
    assert f"Examples:\n    tiedlm {command}" in out
    assert main([command, "-h"]) == 0
    assert capsys.readouterr().out == out


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "tiedlm 0.1.0\n"


@pytest.mark.parametrize(
    ("words", "key", "said"),
    [
        (["nothing"], None, "No such command 'nothing'"),
        (["compare", "--nothing"], None, "No such option: --nothing"),
        (["train"], None, "which config? As in `tiedlm train quickstart"),
        (["train", "soft", "--config", "quickstart"], "--config", "give one config"),
        (["train", "--config", "quickstart", "--seed", "x"], None, "'--seed': must be a valid integer. `"),
        (["evaluate", ".", "--seq-len", "0"], None, "'--seq-len': must be greater than or equal to 1. `"),
        (["train", "--config", "quickstart"], "--variant", "tied, untied"),
        (["train", "--config", "quickstart", "--variant", "soft"], "--variant", "tied, untied"),
        (["train", "--config", "shapes/gpt2"], None, "holds a model alone"),
        (["train", "--config", "quickstart", "--set", "training"], None, "not key=value"),
        (["compare", "no-such-config"], None, "no such file"),
        (["compare", "quickstart", "--set", "training.step=3"], "training.step", "did you mean training.steps?"),
        (["compare", "quickstart", "--device", "tpu"], "training.device", '"tpu"'),
        (["compare", "quickstart", "--baseline", "soft"], "baseline", "tied, untied"),
        (["compare", "quickstart", "--primary", "soft"], "primary", "tied, untied"),
        (["compare", "quickstart", "--smallest-worthwhile", "0"], "smallest_worthwhile", "above 0"),
        (["compare", "quickstart", "tied"], None, "give one config, or folders"),
        (["compare", "."], None, "no run is there"),
        (["count-params", "quickstart", "--set", "data.tokenizer.type=word"], "model.vocab_size", "tiedlm prepare"),
        (["evaluate", "."], None, "holds no run"),
        (["evaluate", ".", "--split", "dev"], None, "Invalid value for '--split': 'dev' is not one of"),
        (["generate", "."], None, "holds no run"),
        (["report", "."], None, "no comparison is stored here"),
        *((words, None, "File name too long") for words in (["compare", LONG], ["evaluate", LONG], ["report", LONG])),
        (["prepare", "shapes/gpt2"], None, "holds a model alone"),
        (["report"], None, "no experiment is under runs"),
        (["verify", "nothing"], None, "no such folder, neither here nor under runs"),
        (
            ["configs", "show", "quikstart"],
            None,
            "no such file, and no packaged config of that name; did you mean quick",
        ),
        (["configs", "explain", "lr"], None, "did you mean training.learning_rate?"),
    ],
)
def test_a_wrong_request_is_two_lines_and_exit_code_2(
    words: list[str],
    key: str | None,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert len(err.splitlines()) <= 2
    assert all(line.startswith("tiedlm: ") for line in err.splitlines())
    assert main([*words, "--json"]) == 2
    error = error_in(capsys.readouterr().out)
    assert said in error["message"]
    if error["kind"] == "config":
        assert (error["key"] or "").endswith(key or "")
    assert list(tmp_path.iterdir()) == [], "nothing is begun"


def test_every_mistake_in_a_config_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text((TINY % "x").replace("steps: 3", "steps: -3").replace("dim: 16", "dim: wide"))
    assert main(["compare", str(path)]) == 2
    assert capsys.readouterr().err.splitlines() == [
        f'tiedlm: {path}: model.dim: "wide": must be a whole number',
        f"tiedlm: {path}: training.steps: -3: must be above 0",
    ]


def test_a_key_cannot_steer_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(TINY % "x" + '"\\e[31mred\\n": 1\n')
    assert main(["compare", str(path)]) == 2
    err = capsys.readouterr().err
    assert "\x1b" not in err
    assert "[31mred" in err


@pytest.mark.parametrize(
    ("error", "code", "kind"),
    [
        (ConfigError(Problem("a.b", "is wrong")), 2, "config"),
        (RunError("offline", "the text is not here"), 1, "offline"),
        (RunError("diverged", "the loss at step 3 is not finite", 3), 1, "diverged"),
        (Interrupted(signal.SIGINT, "stopped, state saved"), 130, "interrupted"),
        (Interrupted(signal.SIGTERM, "stopped, state saved"), 143, "interrupted"),
        (ZeroDivisionError("by zero\nand more"), 1, "unexpected"),
    ],
)
def test_each_kind_of_error_has_its_exit_code(
    error: Exception, code: int, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tell(error, as_json=True) == code
    out, err = capsys.readouterr()
    assert error_in(out)["kind"] == kind
    assert len(err.splitlines()) == 1
    assert ("--debug" in err) == (kind == "unexpected")


def test_debug_shows_the_traceback_and_keeps_the_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "no-such-config"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    assert main(["compare", "no-such-config", "--debug"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_text_from_a_model_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    print_text("one\ntwo\x1b[31m\r\x07 ē\x9b\x7f\u202eabc\u2066")
    assert capsys.readouterr().out == "one\ntwo\\x1b[31m\\r\\x07 ē\\x9b\\x7f\\u202eabc\\u2066\n"


def test_text_from_a_model_is_printed_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    spaces, joined = "5\xa0000\u202f\u20ac\u3000\u2028\t", "soft\xadhyphen \U0001f468\u200d\U0001f469"
    text = f"{spaces}, {joined}, \u0645\u06cc\u200c\u062e\u200f \ue000"
    print_text(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_json_never_holds_nan(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": [float("nan"), 1.5, {"b": float("inf")}], "c": (1, "ē")})
    out = capsys.readouterr().out
    assert json.loads(out, parse_constant=pytest.fail) == {"a": [None, 1.5, {"b": None}], "c": [1, "ē"]}


def test_counting_is_of_each_variant_or_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    def models(*words: str) -> list[dict[str, Any]]:
        assert main(["count-params", *words, "--json"]) == 0
        found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["models"]
        assert all(sum(model["parts"].values()) == model["total"] for model in found)
        return found

    assert [(model["name"], model["tying"]) for model in models()] == [("tied", "tied"), ("untied", "untied")]
    tied, untied = models("gpt2")
    assert (tied["total"], untied["total"]) == (124_439_808, 163_037_184)
    assert [model["name"] for model in models("gpt2", "quickstart")][1:3] == ["gpt2/untied", "quickstart/tied"]
    changed = models("gpt2", "--set", "model.vocab_size=1000", "--set", "model.tying.output_bias=true")
    assert [model["parts"]["output_bias"] for model in changed] == [1000, 1000], "what both have in common stays"


def test_a_plan_can_be_seen_before_it_is_carried_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config = write_tiny(tmp_path)
    assert main(["compare", str(config), "--dry-run", "--json", "--set", "seeds=[0, 1]"]) == 0
    runs = json.loads(capsys.readouterr().out)["runs"]
    assert [(run["variant"], run["seed"], run["state"]) for run in runs] == [
        ("tied", 0, "to do"),
        ("untied", 0, "to do"),
        ("tied", 1, "to do"),
        ("untied", 1, "to do"),
    ]
    assert {(run["steps"], run["tokens"]) for run in runs} == {(3, 3 * 2 * 16)}
    assert runs[0]["state_bytes"] == runs[0]["parameters"] * 16
    assert main(["train", "--config", str(config), "--variant", "tied", "--dry-run"]) == 0
    assert "96" in capsys.readouterr().out
    assert not (tmp_path / "runs").exists()


def test_a_plan_says_when_it_takes_the_vocabulary_asked_for_and_when_there_is_no_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    config, asked = str(write_tiny(tmp_path)), "are those of the vocabulary asked for"
    assert main(["compare", config, "--dry-run"]) == 0
    assert asked not in " ".join(capsys.readouterr().out.split())
    assert main(["compare", config, "--dry-run", "--set", "data.tokenizer={type: bpe, vocab_size: 300}"]) == 0
    assert asked in " ".join(capsys.readouterr().out.split())
    assert main(["compare", config, "--dry-run", "--set", "data.corpus.file=nowhere.txt"]) == 2
    said = capsys.readouterr().err
    assert "data.corpus.file" in said and "nowhere.txt cannot be read: No such file" in said


def test_a_comparison_is_one_document_with_the_promised_keys(compared: tuple[Path, dict[str, Any]]) -> None:
    _, document = compared
    assert [variant["name"] for variant in document["variants"]] == ["tied", "untied"]
    for variant in document["variants"]:
        assert sum(variant["parameters"]["parts"].values()) == variant["parameters"]["total"]
        assert variant["splits"]["test"]["tokens"] > 0
    assert {difference["metric"] for difference in document["differences"]} == {"nats_per_token"}
    assert document["differences"][0]["pairing"]["level"] == "start+batches"


def test_finished_runs_are_only_printed(
    compared: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, document = compared
    monkeypatch.chdir(folder)
    for words in (["compare"], ["compare", "tiny.yaml"], ["compare", "runs/tiny"]):
        assert main([*words, "--json"]) == 0
        out, err = capsys.readouterr()
        printed = json.loads(out)
        assert printed["variants"] == document["variants"]
        assert printed["differences"] == document["differences"]
        assert ("the newest experiment: runs/tiny" in err) == (words == ["compare"])
    assert main(["compare", "runs/tiny/tied/seed-0", "runs/tiny/untied/seed-0"]) == 0
    out = capsys.readouterr().out
    assert "tied" in out
    assert "nats per token" in out
    assert main(["train", "--config", "tiny.yaml", "--variant", "tied", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["variant"] == "tied"


def test_changes_need_a_config_to_change(
    compared: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(compared[0])
    for words in (["--set", "training.steps=5"], ["--fresh"], ["runs/tiny", "--dry-run"], ["--device", "cpu"]):
        assert main(["compare", *words]) == 2
        assert "needs a config" in capsys.readouterr().err


def test_another_recipe_for_a_run_that_is_there_is_refused(
    compared: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(compared[0])
    assert main(["compare", "tiny.yaml", "--set", "training.learning_rate=1"]) == 2
    err = capsys.readouterr().err
    assert "training.learning_rate" in err
    assert "--fresh" in err


def test_what_is_stored_is_printed_and_written(
    compared: tuple[Path, dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(compared[0])
    assert main(["report", "runs/tiny", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["experiment"] == "tiny"
    assert main(["report", "runs/tiny", "--details"]) == 0
    details = capsys.readouterr().out
    assert main(["report", "runs/tiny"]) == 0
    assert len(capsys.readouterr().out) < len(details)
    assert main(["report", "runs/tiny", "--markdown", str(tmp_path / "table.md")]) == 0
    out, err = capsys.readouterr()
    assert (out, err) == ("", f"written: {tmp_path / 'table.md'}\n")
    assert main(["report", "runs/tiny", "--markdown", "-"]) == 0
    assert capsys.readouterr().out == (tmp_path / "table.md").read_text(encoding="utf-8")


def test_a_run_can_be_scored_again_another_way(
    compared: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, document = compared
    monkeypatch.chdir(folder)
    run, stored = "runs/tiny/tied/seed-0", document["variants"][0]["splits"]["test"]
    assert main(["evaluate", run, "--split", "test", "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert (again["run"], again["split"], again["tokens"]) == (run, "test", stored["tokens"])
    assert again["nll"] == pytest.approx(stored["nll"], rel=1e-6)
    assert main(["evaluate", run, "--split", "test", "--seq-len", "8", "--stride", "3", "--json"]) == 0
    other = json.loads(capsys.readouterr().out)
    assert (other["seq_len"], other["stride"], other["tokens"]) == (8, 3, stored["tokens"])
    assert other["nll"] != again["nll"]
    assert main(["evaluate", run]) == 0
    assert "validation" in capsys.readouterr().out
    assert main(["evaluate", run, "--seq-len", "64"]) == 2
    assert "--seq-len" in capsys.readouterr().err


def test_a_sample_is_the_same_for_the_same_seed(
    compared: tuple[Path, dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(compared[0])
    words = ["generate", "runs/tiny/untied/seed-0", "--prompt", "Paragraph ", "--num-tokens", "20", "--json"]

    def text(*more: str) -> str:
        assert main([*words, *more]) == 0
        document = json.loads(capsys.readouterr().out)
        assert document["prompt"] == "Paragraph "
        return str(document["text"])

    assert text("--seed", "1") == text("--seed", "1")
    assert text("--seed", "1") != text("--seed", "2")
    assert text("--temperature", "0", "--seed", "1") == text("--top-k", "1", "--seed", "2")
    assert main(words[:-1]) == 0
    assert capsys.readouterr().out.startswith("Paragraph ")
    for option, value in (("--temperature", "inf"), ("--temperature", "nan"), ("--top-k", "258")):
        assert main([*words[:-1], option, value]) == 2
        assert option in capsys.readouterr().err


def test_nothing_heavy_is_imported_to_plan_or_to_print(compared: tuple[Path, dict[str, Any]]) -> None:
    program = """
import contextlib, io, sys
from cli.main import main
for words in (["--help"], ["--version"], ["configs"], ["configs", "show", "quickstart"], ["compare", "--help"],
              ["compare", "nothing"], ["compare", "tiny.yaml"], ["compare"], ["report", "runs/tiny"]):
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        main(words)
    heavy = {"torch", "scipy", "datasets", "tokenizers"} & set(sys.modules)
    assert not heavy, (words, heavy)
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    subprocess.run([sys.executable, "-c", program], check=True, cwd=compared[0], env=environment)


def test_a_closed_pipe_is_no_traceback(compared: tuple[Path, dict[str, Any]]) -> None:
    for words in (["compare", "--json"], ["compare"], ["--help"], ["configs", "--json"]):
        reader, writer = os.pipe()
        os.close(reader)
        process = subprocess.run(
            [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())", *words],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            cwd=compared[0],
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        os.close(writer)
        assert process.returncode == 141, words
        assert "Error" not in process.stderr
        assert "Exception" not in process.stderr


def test_a_closed_pipe_for_both_streams_is_quiet_too(compared: tuple[Path, dict[str, Any]]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = subprocess.run(
        [sys.executable, "-c", "import sys; from cli.main import main; sys.exit(main())", "compare"],
        stdout=writer,
        stderr=writer,
        cwd=compared[0],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    os.close(writer)
    assert process.returncode == 141


def test_a_stdout_that_is_not_utf_8_gets_ascii(compared: tuple[Path, dict[str, Any]]) -> None:
    for encoding in ("ascii", "cp1252"):
        code, out, err = finish(start("compare", cwd=compared[0], PYTHONIOENCODING=encoding))
        assert code == 0, err
        assert out.isascii()
        assert "tied" in out


NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@pytest.mark.parametrize("details", [[], ["--details"]])
def test_c07_in_a_narrow_pipe_every_number_is_whole_and_nothing_is_coloured(
    compared: tuple[Path, dict[str, Any]],
    details: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(compared[0])
    pages = {}
    for width in ("40", "400"):
        monkeypatch.setenv("COLUMNS", width)
        assert main(["compare", "tiny.yaml", *details]) == 0
        out, err = capfd.readouterr()
        assert "\x1b" not in out + err
        assert "..." not in out and "\u2026" not in out
        pages[width] = out
    numbers = {width: set(NUMBER.findall(page)) for width, page in pages.items()}
    assert len(numbers["400"]) > 10
    assert numbers["400"] - numbers["40"] == set(), "each stands in one piece on one line"
    shared, total = compared[1]["variants"][0]["parameters"]["parts"]["body"], compared[1]["variants"][0]["parameters"]
    assert f"{total['total']:,}" in numbers["40"] and (not details or f"{shared:,}" in numbers["40"])


def test_c07_a_long_run_in_a_pipe_says_few_lines(command: tuple[Path, str, str]) -> None:
    _, _, err = command
    assert 0 < len(err.splitlines()) <= 30


def test_an_interrupt_while_starting_up_is_one_exit_code_and_no_traceback(tmp_path: Path) -> None:
    """Once the command is being imported: what Python itself is doing before is not ours."""
    config = write_tiny(tmp_path)
    for library in ("pydantic_core", "numpy"):
        process = start("compare", config, "--json", cwd=tmp_path)
        maps, deadline = Path(f"/proc/{process.pid}/maps"), time.monotonic() + 30
        while library not in maps.read_text() and time.monotonic() < deadline:
            time.sleep(0.001)
        process.send_signal(signal.SIGINT)
        code, _, err = finish(process)
        assert code == 130, err
        assert "Traceback" not in err
        assert len(err.splitlines()) <= 2
    assert not list(tmp_path.glob("runs/**/metrics.jsonl"))


def test_preparing_twice_gives_the_same_tokens(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, documents = write_tiny(tmp_path), []
    for _ in range(2):
        assert main(["prepare", str(config), "--json", "--cache-dir", str(tmp_path / "cache")]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]
    (prepared,) = documents[0]["prepared"]
    assert prepared["vocab_size"] == 257
    assert main(["prepare", str(config), "--cache-dir", str(tmp_path / "cache")]) == 0
    assert f"{prepared['splits']['train']['tokens']:,}" in capsys.readouterr().out


def test_c05_tokens_do_not_hang_on_the_locale(tmp_path: Path) -> None:
    config = write_tiny(tmp_path)
    config.write_bytes(b"\xef\xbb\xbf# \xc4\x93\r\n" + config.read_bytes().replace(b"\n", b"\r\n"))
    hashes = []
    for number, locale in enumerate(
        ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"})
    ):
        cache = tmp_path / f"cache-{number}"
        code, out, err = finish(start("prepare", config, "--json", "--cache-dir", cache, cwd=tmp_path, **locale))
        assert code == 0, err
        hashes.append(json.loads(out)["prepared"][0]["tokens_sha256"])
    assert hashes[0] == hashes[1]
