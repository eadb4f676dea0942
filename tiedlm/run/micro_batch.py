"""One micro-batch size for every run of an experiment, agreed before anything trains.

A CPU takes the whole batch at once. On a GPU two steps of each variant are tried in a process of their own, from the
whole batch downwards by halves, and the largest size that fits all of them is written into the experiment's folder.
"""

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from tiedlm.config.base import Config, memory_settings
from tiedlm.errors import Interrupted, RunError
from tiedlm.files import write_atomic
from tiedlm.run.config import RunConfig
from tiedlm.run.layout import Run
from tiedlm.run.probe import build_probe
from tiedlm.run.process import call_worker, in_a_line
from tiedlm.talk import Talk
from tiedlm.training.machine import resolve_machine


class Agreement(Config):
    """The size that an experiment agreed on, and of what models and recipes (as hashes) it was tried."""

    micro_batch_size: Annotated[int, Field(gt=0)]
    tried: list[str]


def micro_batch_size(run: Run, siblings: Sequence[Run], vocab_size: int, talk: Talk) -> int:
    """The size that `run` takes: the configured one, or the one its experiment agreed on.

    Where `run` or one of its `siblings` was not tried yet, it is now, and the size agreed may become smaller.
    """
    training = run.config.training
    if isinstance(training.micro_batch_size, int):
        return training.micro_batch_size
    if resolve_machine(training).device.type == "cpu":
        return training.batch_size
    return min(agree([run, *siblings], vocab_size, talk), training.batch_size)


def agree(runs: Sequence[Run], vocab_size: int, talk: Talk) -> int:
    """Find the largest of batch_size, batch_size / 2, .. that fits every run given and all before, and write it down.

    Raises RunError("out_of_memory") where a single window does not fit.
    """
    file = runs[0].micro_batch_file
    before = _read(file)
    tried = before.tried if before else []
    size = before.micro_batch_size if before else max(run.config.training.batch_size for run in runs)
    waiting = {_what_takes_memory(run.config): run for run in runs}
    for key, run in waiting.items():
        if key in tried:
            continue
        talk.now(f"{run.config.variant}: trying a micro-batch of {min(size, run.config.training.batch_size)}")
        while not fits(run.config, min(size, run.config.training.batch_size), vocab_size):
            talk.say(f"{run.config.variant}: a micro-batch of {size} does not fit; trying {size // 2} for all variants")
            size //= 2
            if size == 0:
                raise RunError("out_of_memory", f"{run.config.variant}: not even one window fits into memory")
        tried = [*tried, key]
    if before and size < before.micro_batch_size:
        talk.say(f"runs that trained with micro-batches of {before.micro_batch_size} are no pairs of those from now on")
    agreement = Agreement(micro_batch_size=size, tried=tried)
    if agreement != before:
        write_atomic(file, agreement.model_dump_json())
    return size


def _what_takes_memory(config: RunConfig) -> str:
    """SHA-256 of the model, the recipe and the window: what other seeds and other rates of a variant have in common."""
    question = [config.model.model_dump(mode="json"), memory_settings(config.training), config.data.seq_len]
    return hashlib.sha256(json.dumps(question, sort_keys=True).encode()).hexdigest()


def fits(config: RunConfig, size: int, vocab_size: int) -> bool:
    """Whether training with micro-batches of `size` fits into memory, tried in a process of its own."""
    try:
        call_worker("try_micro_batch", config, size=size, vocab_size=vocab_size)
    except Interrupted:
        raise
    except RunError as error:
        if error.kind == "out_of_memory":
            return False
        message = f"{config.variant}: the trial of a micro-batch failed: {in_a_line(error)}"
        raise RunError("error", message) from error
    return True


def try_two_steps(config: RunConfig, size: int, vocab_size: int) -> None:
    """Take two steps in each stage of the tying, on made-up ids; raises what the allocator does where they do not fit.

    The optimizer's state is there from the second step on, and the gradients from the second micro-batch of a step on:
    both stand beside the activations then.
    """
    training = build_probe(config, size, vocab_size)
    try:
        for stage in training.model.tying.stages:
            training.progress.step = math.ceil(stage * training.num_steps)
            training.advance(), training.advance()
    except RunError as error:
        if error.kind != "diverged":  # which is for the run itself to meet; it fits
            raise


def _read(path: Path) -> Agreement | None:
    if not path.is_file():
        return None
    try:
        return Agreement.model_validate_json(path.read_bytes())
    except ValidationError:
        raise RunError("corrupt", f"{path} holds no micro_batch_size; delete it, and the size is tried anew") from None
