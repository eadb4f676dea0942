"""What commands take: configs and folders, by path or by name, one, several or none."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from tests.support.finished_runs import example_comparison
from tests.support.small_runs import carry_out, small_run
from tiedlm.comparison.comparison import store_comparison
from tiedlm.config.copying import copy_config
from tiedlm.config.find import SCHEMA_FILE, packaged_schema

ROOT = Path(__file__).parent.parent.parent
Captured = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished runs of the experiment `small`, compared."""
    folder = tmp_path_factory.mktemp("home")
    for variant in ("tied", "untied"):
        carry_out(small_run(folder, variant=variant))
    assert main(["compare", str(folder / "small.yaml"), "--runs-dir", str(folder / "runs"), "--json"]) == 0
    return folder


def printed(capsys: Captured, *words: str) -> dict[str, Any]:
    assert main([*words, "--json"]) == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    return document


@pytest.mark.parametrize(
    "words", [[], ["small"], ["runs/small"], ["runs/small/tied/seed-0", "runs/small/untied/seed-0"]]
)
def test_report_takes_what_compare_takes(
    words: list[str], home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(home)
    reported = printed(capsys, "report", *words)
    assert reported["differences"] == printed(capsys, "compare", "runs/small")["differences"]
    assert reported["differences"] == printed(capsys, "compare", *words)["differences"]


def test_one_run_is_reported_and_written_alone(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, tmp_path: Path
) -> None:
    monkeypatch.chdir(home)
    assert [variant["name"] for variant in printed(capsys, "report", "small/tied/seed-0")["variants"]] == ["tied"]
    assert main(["report", "runs/small/tied/seed-0", "--markdown", str(tmp_path / "one.md")]) == 0
    assert "tied" in (tmp_path / "one.md").read_text()
    assert main(["report", "runs/small/tied/seed-0", "--csv", "runs/small/tied/seed-0/result.json"]) == 2
    assert "part of what is stored there" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "num_runs"),
    [([], 2), (["small"], 2), (["runs/small/tied/seed-0"], 1), (["small/tied/seed-0", "small/untied/seed-0"], 2)],
)
def test_verify_takes_what_compare_takes(
    words: list[str], num_runs: int, home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(home)
    verified = printed(capsys, "verify", *words)
    assert (verified["num_runs"], verified["failed"]) == (num_runs, [])


def test_a_name_that_no_experiment_has_is_told_with_those_that_are_near(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(home)
    for command in ("report", "verify"):
        assert main([command, "smal"]) == 2
        assert (
            capsys.readouterr().err
            == "tiedlm: smal: no such folder, neither here nor under runs; did you mean small?\n"
        )


def test_a_folder_of_experiments_is_told_with_their_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("b", "a"):
        store_comparison(example_comparison(), tmp_path / "runs" / name)
    assert main(["report", "runs"]) == 2
    assert "no comparison is stored here (No such file or directory); name one of those below: a, b" in (
        capsys.readouterr().err
    )


def test_a_packaged_config_goes_before_an_experiment_of_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    store_comparison(example_comparison(), tmp_path / "runs" / "quickstart")
    assert printed(capsys, "report", "quickstart")["experiment"] == "example"
    assert len(printed(capsys, "compare", "quickstart", "--dry-run")["runs"]) == 10


def test_train_takes_its_config_as_compare_does(home: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured) -> None:
    monkeypatch.chdir(home)
    as_argument = printed(capsys, "train", "small.yaml", "--variant", "tied")
    assert as_argument == printed(capsys, "train", "--config", "small.yaml", "--variant", "tied")


def test_a_copy_makes_its_folder_and_takes_the_schema_along(tmp_path: Path, capsys: Captured) -> None:
    assert main(["configs", "copy", "soft", f"{tmp_path}/new/"]) == 0
    out, err = capsys.readouterr()
    assert out.split() == [str(tmp_path / "new" / name) for name in ("soft.yaml", "quickstart.yaml")]
    assert err == f"beside it, for editors: {tmp_path / 'new' / SCHEMA_FILE}\n"
    assert (tmp_path / "new" / SCHEMA_FILE).read_text() == packaged_schema().read_text()
    (shape,) = copy_config("gpt2", f"{tmp_path}/new/").configs
    assert shape.read_text().startswith(f"# yaml-language-server: $schema={SCHEMA_FILE}\n")


def test_copies_share_what_they_extend_and_a_schema_that_is_old_is_replaced(tmp_path: Path, capsys: Captured) -> None:
    copy_config("soft", f"{tmp_path}/")
    (tmp_path / SCHEMA_FILE).write_text('{"title": "tiedlm config", "old": true}')
    assert [path.name for path in copy_config("projected", f"{tmp_path}/").configs] == ["projected.yaml"]
    assert (tmp_path / SCHEMA_FILE).read_text() == packaged_schema().read_text()
    (tmp_path / "quickstart.yaml").write_text("name: changed\n")
    assert main(["configs", "copy", "equal-parameters", f"{tmp_path}/"]) == 2
    assert "quickstart.yaml: is there already" in capsys.readouterr().err
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / SCHEMA_FILE).write_text("[]")
    assert main(["configs", "copy", "quickstart", str(tmp_path / "other")]) == 2
    assert [path.name for path in (tmp_path / "other").iterdir()] == [SCHEMA_FILE]


def test_the_package_runs_as_a_module() -> None:
    done = subprocess.run([sys.executable, "-m", "tiedlm", "--version"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stdout) == (0, "tiedlm 0.1.0\n"), done.stderr
