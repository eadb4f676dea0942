"""Every figure of an experiment with parts is recomputed, and one that was tampered with is found."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.main import main
from tests.support.stored_parts import stored_recipes
from tiedlm.comparison.parts.answer import answer_parts
from tiedlm.comparison.parts.verify import verify_parts
from tiedlm.comparison.verify_all import verify_all
from tiedlm.config.base import ConfigError
from tiedlm.run.folder import run_folders


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three recipes, compared."""
    made, parts = stored_recipes(tmp_path_factory.mktemp("joined"))
    answer_parts(parts, made.question(), made.home)
    return made.home


@pytest.fixture
def home(joined: Path, tmp_path: Path) -> Path:
    """A copy of them, to be tampered with."""
    return Path(shutil.copytree(joined, tmp_path / "runs" / "small"))


def edit(path: Path, change: Callable[[Any], None]) -> None:
    document = json.loads(path.read_text())
    change(document)
    path.write_text(json.dumps(document))


def faults(home: Path) -> list[tuple[str, str]]:
    return [(fault.file, fault.key) for fault in verify_parts(home).failed]


def test_what_was_stored_holds(home: Path) -> None:
    verified = verify_all([home])
    assert (verified.failed, verified.num_runs) == ([], 3 * 4 + 4)
    assert verified.num_numbers > 1_000
    assert any("which seeds choose and judge" in line for line in verified.not_checked)
    assert verify_all([home, home / "default"]).num_runs == 3 * 4 + 4 + 4


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda c: c["recipes"]["across"][0].update(mean=0.5), "recipes.across[tied].mean"),
        (lambda c: c["recipes"]["across"][0]["prediction95"].reverse(), "recipes.across[tied].prediction95[0]"),
        (lambda c: c["recipes"]["within"][1].update(mean=0.5), "recipes.within[scaled, tied].mean"),
        (lambda c: c["recipes"]["best_against_best"][0].update(sd_of_choice=0.5), "sd_of_choice"),
        (lambda c: c["recipes"]["best_against_best"][0].update(verdict="better"), "verdict"),
        (lambda c: c.update(verdict="tied is better."), "verdict"),
        (lambda c: c["parts"][0]["comparison"]["differences"][0].update(mean=0.5), "parts[default].comparison.diff"),
        (lambda c: c["sources"].update({"fast/tied/seed-0/result.json": "0"}), "sources.fast/tied/seed-0/result.json"),
    ],
)
def test_a_fault_is_told_by_its_place(home: Path, change: Callable[[Any], None], key: str) -> None:
    edit(home / "comparison.json", change)
    found = faults(home)
    assert any(file == "comparison.json" and key in place for file, place in found), found


def test_a_fault_in_a_part_or_in_a_run_that_only_judges_is_found(home: Path) -> None:
    edit(home / "fast" / "comparison.json", lambda c: c["differences"][0].update(num_seeds=7))
    (judge, *_) = [
        run for part in ("default", "scaled", "fast") for run in run_folders(home / part) if run.config().seed == 3
    ]
    edit(judge.result_file, lambda r: r["splits"]["test"].update(nll=r["splits"]["test"]["nll"] + 0.01))
    found = faults(home)
    assert ("fast/comparison.json", "differences[tied, test].num_seeds") in found
    place = judge.result_file.relative_to(home).as_posix()
    assert (place, "splits.test.nll") in found
    assert ("comparison.json", f"sources.{place}") in found
    assert any(key.startswith("recipes.best_against_best") for _, key in found)


def test_a_run_that_is_missing_is_the_request_s_fault(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (home / "scaled" / "tied" / "seed-0" / "result.json").unlink()
    with pytest.raises(ConfigError, match=r"result\.json is not there"):
        verify_parts(home)
    assert main(["verify", str(home)]) == 2
    assert capsys.readouterr().out == ""


def test_the_command_says_what_it_checked_and_what_does_not_hold(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(home)]) == 0
    assert "of 16 runs; all hold." in " ".join(capsys.readouterr().out.split())
    edit(home / "comparison.json", lambda c: c["recipes"]["across"][0].update(between=0.5))
    assert main(["verify", str(home)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert "comparison.json, recipes.across[tied].between: stored 0.5, recomputed" in said
