"""Which device, which number format, compiled or not: what `auto` means on this machine."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal

import torch

from tiedlm.config.base import ConfigError, Problem
from tiedlm.training.config import TrainingConfig

PrecisionName = Literal["fp32", "bf16", "fp16"]
_DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Machine:
    """What a run computes with."""

    device: torch.device
    precision: PrecisionName
    compile: bool

    def autocast(self) -> AbstractContextManager[None]:
        """Mixed precision for a forward pass; weights stay fp32.

        Without autocast's weight cache: with it, the gradients of a matrix used several times would add up in bf16.
        """
        enabled = self.precision in _DTYPES
        dtype = _DTYPES.get(self.precision)
        context: AbstractContextManager[None] = torch.autocast(
            self.device.type, dtype=dtype, enabled=enabled, cache_enabled=False
        )
        return context

    def scaler(self) -> torch.amp.GradScaler:
        """Loss scaling, which fp16 needs and the others pass through."""
        return torch.amp.GradScaler(self.device.type, enabled=self.precision == "fp16")

    @property
    def device_name(self) -> str:
        """The device in words, as its driver or the operating system names it."""
        if self.device.type == "cuda":
            return str(torch.cuda.get_device_name(self.device))
        return _cpu_name()


def resolve_machine(config: TrainingConfig, *, compiles: bool = True) -> Machine:
    """The device, precision and compilation of a run, with every `auto` decided; ConfigError where they are not here.

    A model whose `compiles` is False is not compiled.
    """
    device = _device(config.device)
    precision = _best_precision(device) if config.precision == "auto" else config.precision
    compiled = device.type == "cuda" if config.compile == "auto" else config.compile
    return Machine(device, precision, compiled and compiles)


def _device(name: str) -> torch.device:
    available = torch.cuda.is_available()
    if name == "auto":
        return torch.device("cuda" if available else "cpu")
    device = torch.device(name)
    if device.type == "cuda" and (not available or (device.index or 0) >= torch.cuda.device_count()):
        found = f"{torch.cuda.device_count()} found" if available else "torch finds no CUDA here"
        raise ConfigError(Problem("training.device", f"{name!r}: {found}"))
    return device


def _best_precision(device: torch.device) -> PrecisionName:
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp16"
    return "bf16" if _cpu_has_bf16() else "fp32"


def _cpu_has_bf16() -> bool:
    """Whether the processor multiplies bf16 in hardware: AVX512_BF16 or AMX on x86, BF16 on ARM."""
    if hasattr(torch.cpu, "get_capabilities"):  # newer than torch 2.11
        capabilities = torch.cpu.get_capabilities()
        return any(capabilities.get(name) for name in ("avx512_bf16", "amx_bf16", "bf16"))
    older = getattr(torch.cpu, "_is_avx512_bf16_supported", lambda: False)
    return bool(older())


def _cpu_name() -> str:
    import platform
    from pathlib import Path

    listing = Path("/proc/cpuinfo")
    if listing.exists():
        for line in listing.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
