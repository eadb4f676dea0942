"""What a run imports: one new process trains a little, carries a run out, and says what is there by then."""

import json
import subprocess
import sys

import pytest

from tests.support.small_runs import carry_out, environment, small_run

PROGRAM = """
import json, sys
from pathlib import Path
from tests.support.tying_runs import TIED, tiny_training
training = tiny_training(TIED)
training.advance()
training.restore(training.snapshot())
training.advance()
trained = sorted(sys.modules)
from tests.support.small_runs import carry_out, small_run
carry_out(small_run(Path(sys.argv[1])))
print(json.dumps([trained, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], list[str]]:
    """The modules after some steps of training, and after a run."""
    folder = tmp_path_factory.mktemp("imports")
    carry_out(small_run(folder, runs="here"))  # so that what its steps need is known
    command = [sys.executable, "-c", PROGRAM, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    trained, run = json.loads(done.stdout)
    assert (folder / "runs" / "small" / "tied" / "seed-0" / "result.json").is_file()
    return trained, run


def test_training_does_not_import_the_compiler(imported: tuple[list[str], list[str]]) -> None:
    """torch's optimizers do, which takes every run 1.3 s and 75 MB."""
    trained, _ = imported
    assert "torch" in trained and "torch._dynamo" not in trained


def test_a_run_that_asks_for_no_logger_imports_none(imported: tuple[list[str], list[str]]) -> None:
    _, run = imported
    assert "tiedlm.run.execute" in run
    assert not {"tensorboard", "torch.utils.tensorboard", "wandb"} & {*run}
