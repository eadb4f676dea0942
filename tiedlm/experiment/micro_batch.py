"""One micro-batch size for every run of an experiment, agreed before anything trains.

A CPU takes the whole batch at once. On a GPU two steps of each variant are tried in a process of its own, from the
whole batch downwards by halves, and the largest size that fits all of them is written into the experiment's folder.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from tiedlm.data.batches import Batches
from tiedlm.errors import RunError
from tiedlm.experiment.config import RunConfig
from tiedlm.experiment.plan import Run
from tiedlm.experiment.store import agreement_file, raw_config
from tiedlm.files import write_atomic
from tiedlm.model.language_model import build_model
from tiedlm.talk import Talk
from tiedlm.training.loop import Training
from tiedlm.training.memory import is_out_of_memory
from tiedlm.training.precision import resolve_machine

OUT_OF_MEMORY = 3
"""Exit code of a trial that did not fit."""


def micro_batch_size(run: Run, siblings: Sequence[Run], vocab_size: int, talk: Talk) -> int:
    """The size that `run` takes: the configured one, or the one its experiment agreed on.

    Where none was agreed yet, it is now, so that it fits `run` and its `siblings`.
    """
    training = run.config.training
    if isinstance(training.micro_batch_size, int):
        return training.micro_batch_size
    if resolve_machine(training).device.type == "cpu":
        return training.batch_size
    agreed = _read(agreement_file(run.directory.parent.parent))
    if agreed is None:
        agreed = agree([run, *siblings], vocab_size, talk)
    return min(agreed, training.batch_size)


def agree(runs: Sequence[Run], vocab_size: int, talk: Talk) -> int:
    """Find the largest of batch_size, batch_size / 2, .. that fits every run given, and write it down.

    Raises RunError("out_of_memory") where a single window does not fit.
    """
    size = max(run.config.training.batch_size for run in runs)
    for run in runs:
        while not fits(run.config, min(size, run.config.training.batch_size), vocab_size):
            talk.say(f"{run.config.variant}: a micro-batch of {size} does not fit; trying {size // 2} for all variants")
            size //= 2
            if size == 0:
                raise RunError("out_of_memory", f"{run.config.variant}: not even one window fits into memory")
    write_atomic(agreement_file(runs[0].directory.parent.parent), json.dumps({"micro_batch_size": size}))
    return size


def fits(config: RunConfig, size: int, vocab_size: int) -> bool:
    """Whether training with micro-batches of `size` fits into memory, tried in a process of its own."""
    request = json.dumps({"config": raw_config(config), "size": size, "vocab_size": vocab_size})
    command = [sys.executable, "-P", "-m", "tiedlm.experiment.micro_batch"]
    done = subprocess.run(command, input=request, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode not in (0, OUT_OF_MEMORY):
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        raise RunError("error", f"{config.variant}: the trial of a micro-batch failed: {last}")
    return done.returncode == 0


def try_two_steps(config: RunConfig, size: int, vocab_size: int) -> None:
    """Take two steps on made-up ids; raises what the allocator raises where they do not fit.

    The optimizer's state is there from the second step on, and the gradients from the second micro-batch of a step on:
    both stand beside the activations then.
    """
    machine = resolve_machine(config.training)
    seq_len, batch_size = config.data.seq_len, config.training.batch_size
    num_rows = min(2 * size, batch_size)
    ids = torch.arange(num_rows * seq_len + 1).remainder(vocab_size).numpy()
    model = build_model(config.model, vocab_size, config.max_seq_len)
    model.initialize(config.seed)
    model.to(machine.device)
    batches = Batches(ids, seq_len, num_rows, config.seed)
    training = Training(
        model, batches, config.training, machine, num_steps=10**9, micro_batch_size=size, seed=config.seed
    )
    try:
        training.advance(), training.advance()
    except RunError as error:
        if error.kind != "diverged":  # which is for the run itself to meet; it fits
            raise


def _read(path: Path) -> int | None:
    if not path.is_file():
        return None
    try:
        return int(json.loads(path.read_text(encoding="utf-8"))["micro_batch_size"])
    except (ValueError, KeyError, TypeError):
        raise RunError("corrupt", f"{path} holds no micro_batch_size; delete it, and the size is tried anew") from None


def _main() -> None:
    request = json.loads(sys.stdin.read())
    try:
        try_two_steps(RunConfig.model_validate(request["config"]), request["size"], request["vocab_size"])
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        sys.exit(OUT_OF_MEMORY)


if __name__ == "__main__":
    _main()
