"""What the libraries behind the loggers left on disk, where they are installed."""

import struct
from collections.abc import Iterator
from importlib import util
from pathlib import Path

import pytest

WANDB_OFFLINE = {"WANDB_MODE": "offline", "WANDB_SILENT": "true"}
needs_tensorboard = pytest.mark.skipif(not util.find_spec("tensorboard"), reason="the extra tensorboard")
needs_wandb = pytest.mark.skipif(not util.find_spec("wandb"), reason="the extra wandb")


def records_of(file: Path) -> Iterator[bytes]:
    """The records of one of wandb's files: 7 bytes of header, then a log as LevelDB writes it.

    Blocks of 32 KiB hold chunks of a checksum, a length and a kind (1 whole; 2 first, 3 middle, 4 last of a record).
    """
    data, place, record = file.read_bytes(), 7, b""
    while place + 7 <= len(data):
        if 32_768 - place % 32_768 < 7:
            place += 32_768 - place % 32_768
        _, length, kind = struct.unpack_from("<IHB", data, place)
        chunk, place = data[place + 7 : place + 7 + length], place + 7 + length
        record = chunk if kind in (1, 2) else record + chunk
        if kind in (1, 4):
            yield record
