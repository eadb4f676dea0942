"""Does training do on this machine's GPU what it should, and does it take the memory that was predicted?

Made-up ids, GPT-2 small tied and untied, minutes. Needs torch 2.11 or later and what tiedlm imports, but no text.
`--device cpu --small` goes through the same on a CPU with a small model.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import math
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))

import torch  # noqa: E402

from tiedlm.forecast.memory import Target, forecast_peak  # noqa: E402
from tiedlm.run.config import RunConfig  # noqa: E402
from tiedlm.run.layout import Run  # noqa: E402
from tiedlm.run.micro_batch import agree, fits  # noqa: E402
from tiedlm.run.probe import build_probe, measure  # noqa: E402
from tiedlm.talk import SILENT  # noqa: E402
from tiedlm.training.trainer import Trainer  # noqa: E402

GPT2 = {"vocab_size": 50_257, "seq_len": 1024, "dim": 768, "num_layers": 12, "num_heads": 12, "batch_size": 8}
SMALL = {"vocab_size": 5000, "seq_len": 16, "dim": 64, "num_layers": 1, "num_heads": 2, "batch_size": 2}
STEPS = 30
MIB = 2**20


class Check:
    """One machine, one size; each check yields the lines it has to say and raises AssertionError where it fails."""

    def __init__(self, device: str, sizes: dict[str, int], steps: int) -> None:
        self.device, self.sizes, self.steps = device, sizes, steps
        self.vocab_size = sizes["vocab_size"]
        on_gpu = device == "cuda"
        has_bf16 = not on_gpu or torch.cuda.is_bf16_supported(including_emulation=False)
        self.best = "bf16" if has_bf16 else "fp16"
        self.precisions = ["fp32", *(["bf16"] if has_bf16 else []), *(["fp16"] if on_gpu else [])]

    def config(self, tying: str = "tied", **training: Any) -> RunConfig:
        keys = ("dim", "num_layers", "num_heads")
        recipe = {"steps": self.steps, "batch_size": self.sizes["batch_size"], "learning_rate": 1e-4}
        return RunConfig.model_validate(
            {
                "name": "gpu-check",
                "variant": tying,
                "seed": 0,
                "data": {
                    "corpus": {"type": "python-docs"},
                    "tokenizer": {"type": "byte"},
                    "seq_len": self.sizes["seq_len"],
                },
                "model": {"type": "transformer", "tying": {"type": tying}, **{key: self.sizes[key] for key in keys}},
                "training": {**recipe, "device": self.device, "precision": self.best, "compile": False, **training},
            }
        )

    def training(self, config: RunConfig) -> Trainer:
        rows = config.training.batch_size
        return build_probe(config, rows, self.vocab_size, num_rows=rows)

    def memory(self) -> Iterator[str]:
        head = ("predicted", "allocated")
        yield f"{'':<8}{'micro-batch':>12}{head[0]:>12}{head[1]:>12}{'ratio':>8}{'reserved':>12}{'tokens/s':>10}"
        for size in (self.sizes["batch_size"], self.sizes["batch_size"] // 2):
            for tying in ("tied", "untied"):
                yield self._memory_line(tying, size)

    def _memory_line(self, tying: str, size: int) -> str:
        config = self.config(tying)
        target = Target(self.device, self.best, size)  # type: ignore[arg-type]
        seq_len = self.sizes["seq_len"]
        found = forecast_peak(
            config.model,
            config.training,
            target,
            vocab_size=self.vocab_size,
            seq_len=seq_len,
            max_seq_len=config.max_seq_len,
        )
        assert found.peak_bytes is not None, found.reason
        taken = measure(config, size, self.vocab_size, self.steps)
        measured = taken.gpu_peak_allocated_bytes if self.device == "cuda" else taken.host_growth_bytes
        assert measured, "nothing was measured"
        reserved = taken.gpu_peak_reserved_bytes or 0
        return (
            f"{tying:<8}{size:>12}{found.peak_bytes / MIB:>12,.1f}{measured / MIB:>12,.1f}"
            f"{found.peak_bytes / measured:>8.3f}{reserved / MIB:>12,.1f}{taken.tokens_per_second or 0:>10,.0f}"
        )

    def precision(self) -> Iterator[str]:
        for precision in self.precisions:
            training = self.training(self.config(precision=precision))
            losses = [training.advance().loss for _ in range(3)]
            assert all(map(math.isfinite, losses)), losses
            assert abs(losses[0] - math.log(self.vocab_size)) < 0.5, "the first loss is not near ln V"
            yield f"{precision}: losses {', '.join(f'{loss:.4f}' for loss in losses)}"

    def compiled(self) -> Iterator[str]:
        eager, compiled = (self.training(self.config(compile=on)) for on in (False, True))
        compiled.training_step.compile()
        pairs = [(eager.advance().loss, compiled.advance().loss) for _ in range(3)]
        assert all(abs(one - other) < 0.05 for one, other in pairs), pairs
        yield f"eager and compiled losses: {', '.join(f'{one:.4f} {other:.4f}' for one, other in pairs)}"

    def micro_batch(self) -> Iterator[str]:
        configs = [self.config(tying, micro_batch_size="auto") for tying in ("tied", "untied")]
        with tempfile.TemporaryDirectory() as folder:
            runs = [Run(config, Path(folder)) for config in configs]
            (Path(folder) / "gpu-check").mkdir()
            size = agree(runs, self.vocab_size, SILENT)
        assert 1 <= size <= self.sizes["batch_size"]
        yield f"both arms fit with micro-batches of {size}"
        if self.device == "cuda":
            huge = self.config(batch_size=1 << 16)
            assert not fits(huge, 1 << 16, self.vocab_size), "65,536 windows at once do not fit into any GPU"
            yield "a micro-batch of 65,536 is told not to fit"

    def waiting(self) -> Iterator[str]:
        if self.device != "cuda":
            yield "a CPU is not waited for"
            return
        training = self.training(self.config())
        training.advance(), training.advance()
        torch.cuda.set_sync_debug_mode("warn")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            training.advance()
        torch.cuda.set_sync_debug_mode("default")
        waits = [f"{wait.filename}:{wait.lineno}" for wait in caught if "synchronizing" in str(wait.message)]
        assert len(waits) == 1, waits
        yield f"a step waits for the GPU once, at {waits[0]}"

    def resume(self) -> Iterator[str]:
        straight, first, again = (self.training(self.config()) for _ in range(3))
        whole = [straight.advance().loss for _ in range(4)]
        parts = [first.advance().loss for _ in range(2)]
        again.restore(first.snapshot())
        parts += [again.advance().loss for _ in range(2)]
        worst = max(abs(one - other) for one, other in zip(whole, parts, strict=True))
        assert worst < 1e-2, (whole, parts)
        yield f"four steps, and two and two: {'bit-equal' if worst == 0 else f'largest difference {worst:.1e}'}"


def main() -> int:
    """0 all well, 1 a check failed, 2 no GPU here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--small", action="store_true", help="a small model")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of each memory trial (default: %(default)s)")
    asked = parser.parse_args()
    if asked.device == "cuda" and not torch.cuda.is_available():
        sys.stderr.write("gpu_check: torch finds no CUDA device here\n")
        return 2
    name = torch.cuda.get_device_name() if asked.device == "cuda" else "CPU"
    check = Check(asked.device, SMALL if asked.small else GPT2, asked.steps)
    print(f"{name}, torch {torch.__version__}, memory in MiB, {check.best}")
    checks: list[Callable[[], Iterator[str]]] = [
        check.memory, check.precision, check.compiled, check.micro_batch, check.waiting, check.resume
    ]  # fmt: skip
    return max(carry_out(one) for one in checks)


def carry_out(one: Callable[[], Iterator[str]]) -> int:
    """Print what a check says; 1 where it fails, and the others go on."""
    began, name = time.perf_counter(), getattr(one, "__name__", "")
    try:
        for text in one():
            print(f"  {text}", flush=True)
    except Exception as error:  # noqa: BLE001 (whatever went wrong is what the check is for)
        print(f"{name}: FAILED, {type(error).__name__}: {error}", flush=True)
        return 1
    print(f"{name}: well, {time.perf_counter() - began:.1f} s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
