"""Measured peaks since the last reset: of the GPU's allocator and of the process."""

import contextlib
import ctypes
import platform
import sys
from dataclasses import astuple, dataclass
from pathlib import Path

import torch

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Of mallopt(3): how much may lie free at the top of the heap, and from where on a block is mapped by itself."""

MAPPED_FROM = 2**24
"""A block of at least so many bytes is given back to the system as soon as it is free."""


@dataclass(frozen=True)
class Peaks:
    """Bytes; None where not measured."""

    gpu_allocated: int | None = None
    gpu_reserved: int | None = None
    host_rss: int | None = None

    def joined(self, other: "Peaks") -> "Peaks":
        """The larger of each: the peaks of a run that several processes carried out one after the other."""
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Peaks(*(max((value for value in pair if value is not None), default=None) for pair in pairs))


def reset_peaks(device: torch.device) -> None:
    """Start measuring the peaks again, so that preparing the data does not count.

    Where the kernel does not let a process reset its peak resident size, that is the peak since the process began.
    """
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # 5: the peak resident size alone
    if device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def read_peaks(device: torch.device) -> Peaks:
    """The peaks so far."""
    if device.type != "cuda":
        return Peaks(None, None, host_peak_rss())
    allocated, reserved = torch.cuda.max_memory_allocated(device), torch.cuda.max_memory_reserved(device)
    return Peaks(allocated, reserved, host_peak_rss())


def keep_freed_memory() -> bool:
    """Let this process keep the memory that a step frees for the next step; whether malloc could be told so.

    Otherwise glibc returns it to the system and gets it again page by page, filled with zeros: up to a tenth of a small
    model's step, a third of one with many blocks of a few MiB. Blocks of 16 MiB and more are still returned, since kept
    they would fragment the heap: by up to a third of what a step takes, and by more for two matrices than for one. From
    16 MiB on the time to get them again is a few percent of the work on them.
    """
    if not sys.platform.startswith("linux"):
        return False
    set_option = getattr(ctypes.CDLL(None), "mallopt", None)
    if set_option is None or "glibc" not in platform.libc_ver()[0]:
        return False
    return bool(set_option(_M_MMAP_THRESHOLD, MAPPED_FROM) and set_option(_M_TRIM_THRESHOLD, 2**31 - 1))


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an allocator failed: the GPU's, torch's on the CPU, a library's (known by its message), or Python's."""
    words = ("allocate memory", "CUDA error: out of memory", "CUBLAS_STATUS_ALLOC_FAILED")
    said = isinstance(error, RuntimeError) and any(word in str(error) for word in words)
    return said or isinstance(error, (torch.OutOfMemoryError, MemoryError))


def host_peak_rss() -> int | None:
    """Peak resident size of this process in bytes, None off Linux.

    From VmHWM: `ru_maxrss` is inherited from the parent across fork and exec.
    """
    return _status("VmHWM:")


def host_rss() -> int | None:
    """Resident size of this process now in bytes, None off Linux."""
    return _status("VmRSS:")


def _status(key: str) -> int | None:
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    for line in status.read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    return None
