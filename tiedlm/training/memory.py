"""Measured peaks: of the GPU's allocator since the last reset, of the process since its start."""

from dataclasses import dataclass
from pathlib import Path

import torch


@dataclass(frozen=True)
class Peaks:
    """Bytes; None where not measured."""

    gpu_allocated: int | None
    gpu_reserved: int | None
    host_rss: int | None


def reset_peaks(device: torch.device) -> None:
    """Let the GPU's peaks start anew; the process's own cannot be reset, so each run has a process of its own."""
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def read_peaks(device: torch.device) -> Peaks:
    """The peaks so far."""
    if device.type != "cuda":
        return Peaks(None, None, host_peak_rss())
    allocated, reserved = torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device)
    return Peaks(allocated, reserved, host_peak_rss())


def host_peak_rss() -> int | None:
    """Peak resident size of this process in bytes, None off Linux.

    From VmHWM: `ru_maxrss` is inherited from the parent across fork and exec.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    for line in status.read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return None
