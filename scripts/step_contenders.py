"""What `bench_step` times: each takes training steps of one shape for as long as it is asked to."""

import importlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Gate = Callable[[], None]
"""Called after every step; comes back when the next one is to be taken."""
OURS = "tiedlm"


@dataclass(frozen=True)
class Shape:
    """GPT-2 of some size; all widths follow from `dim`, heads are 64 wide."""

    num_layers: int
    dim: int
    seq_len: int
    batch_size: int
    memory_batch_size: int
    vocab_size: int

    def flops_per_token(self) -> int:
        """6 for each entry of a matrix that multiplies a hidden state, and 12 T D a layer for attention."""
        matrices = self.num_layers * 12 * self.dim**2 + self.vocab_size * self.dim
        return 6 * matrices + 12 * self.num_layers * self.seq_len * self.dim


SHAPES = {
    "S": Shape(4, 256, 256, 8, 8, 8192),
    "M": Shape(12, 768, 512, 1, 4, 50_257),
    "tiny": Shape(1, 64, 32, 2, 2, 512),
}
RECIPE = {"learning_rate": 1e-4, "betas": [0.9, 0.95], "weight_decay": 0.1, "max_grad_norm": 1.0}
PRODUCT_SIZE = 2048


def random_ids(shape: Shape, num_windows: int) -> Any:
    """Ids drawn like those of a text: the k-th as often as 1 / k (N,)."""
    import numpy as np

    weights = 1 / np.arange(1, shape.vocab_size + 1)
    generator = np.random.default_rng(0)
    return generator.choice(shape.vocab_size, num_windows * shape.seq_len + 1, p=weights / weights.sum())


def product(shape: Shape, batch_size: int, precision: str, gate: Gate) -> None:
    """The machine's own limit, or near it."""
    import torch

    dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[precision]
    one, other = (torch.randn(PRODUCT_SIZE, PRODUCT_SIZE).to(dtype) for _ in range(2))
    while True:
        one @ other
        gate()


def plain_loop(shape: Shape, batch_size: int, precision: str, gate: Gate) -> None:
    """GPT-2 as a tutorial has it: all logits at once, torch's AdamW and clipping as they come, autocast for bf16."""
    import torch
    from plain_gpt import PlainGpt
    from torch import nn

    torch.manual_seed(0)
    model = PlainGpt(shape.vocab_size, shape.seq_len, shape.dim, shape.num_layers)
    for parameter in model.parameters():
        if parameter.dim() > 1:
            nn.init.normal_(parameter, std=0.02)
    groups = [
        {"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": RECIPE["weight_decay"]},
        {"params": [p for p in model.parameters() if p.dim() == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RECIPE["learning_rate"], betas=RECIPE["betas"])
    ids = torch.from_numpy(random_ids(shape, 16 * batch_size))
    step = 0
    while True:
        windows = [(step * batch_size + row) % (16 * batch_size) * shape.seq_len for row in range(batch_size)]
        batch = torch.stack([ids[begin : begin + shape.seq_len + 1] for begin in windows])
        with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bf16"):
            loss = model(batch[:, :-1], batch[:, 1:])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), RECIPE["max_grad_norm"])
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        gate()


def hf_trainer(shape: Shape, batch_size: int, precision: str, gate: Gate) -> None:
    """Hugging Face's Trainer as run_clm calls it, without logging, evaluation and saving."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainerCallback, TrainingArguments

    class AfterStep(TrainerCallback):
        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            gate()

    ids = torch.from_numpy(random_ids(shape, 512))
    rows = [{"input_ids": window, "labels": window} for window in ids[: 512 * shape.seq_len].view(512, shape.seq_len)]
    config = GPT2Config(
        vocab_size=shape.vocab_size, n_positions=shape.seq_len, n_embd=shape.dim, n_layer=shape.num_layers,
        n_head=shape.dim // 64, activation_function="gelu", resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
        bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder, per_device_train_batch_size=batch_size, max_steps=10**6, use_cpu=True,
            bf16=precision == "bf16", report_to=[], save_strategy="no", logging_strategy="no", disable_tqdm=True,
            learning_rate=RECIPE["learning_rate"], weight_decay=RECIPE["weight_decay"],
            max_grad_norm=RECIPE["max_grad_norm"], adam_beta2=RECIPE["betas"][1],
        )  # fmt: skip
        Trainer(GPT2LMHeadModel(config), arguments, train_dataset=rows, callbacks=[AfterStep()]).train()


def ours(kind: str, shape: Shape, batch_size: int, precision: str, gate: Gate) -> None:
    """A run as the experiment's own process takes it, without saving."""
    import torch

    from tiedlm.data.batches import build_batches
    from tiedlm.model.language_model import build_model
    from tiedlm.training.memory import keep_freed_memory

    keep_freed_memory()
    config_class = _first_of(("tiedlm.run.config", "RunConfig"), ("tiedlm.experiment.config", "RunConfig"))
    trainer_class = _first_of(("tiedlm.training.trainer", "Trainer"), ("tiedlm.training.loop", "Training"))
    resolve_machine = _first_of(*((f"tiedlm.training.{name}", "resolve_machine") for name in ("machine", "precision")))
    model = {"type": "transformer", "num_layers": shape.num_layers, "dim": shape.dim, "num_heads": shape.dim // 64,
             "tying": {"type": kind.removeprefix(f"{OURS} ")}}  # fmt: skip
    training = {"steps": 10**9, "batch_size": batch_size, "device": "cpu", "precision": precision, **RECIPE,
                "embedding_weight_decay": RECIPE["weight_decay"]}  # fmt: skip
    data = {"corpus": {"type": "python-docs"}, "tokenizer": {"type": "byte"}, "seq_len": shape.seq_len}
    about = {"name": "bench", "variant": "bench", "seed": 0, "data": data}
    config = config_class.model_validate({**about, "model": model, "training": training})
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    decoder = build_model(config.model, shape.vocab_size, shape.seq_len)
    decoder.initialize(0)
    batches = build_batches(random_ids(shape, 512), shape.seq_len, batch_size, 0, contiguous=False)
    sizes = {"num_steps": 10**9, "micro_batch_size": batch_size, "seed": 0}
    run = trainer_class(decoder, batches, config.training, resolve_machine(config.training), **sizes)
    while True:
        run.advance()
        gate()


def _first_of(*places: tuple[str, str]) -> Any:
    """What the first module that exists has by a name: an older checkout may be timed beside this one."""
    for module, name in places:
        try:
            return getattr(importlib.import_module(module), name)
        except ModuleNotFoundError:
            continue
    raise AssertionError(places)
