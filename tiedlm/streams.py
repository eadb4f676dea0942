"""Named streams of randomness: the same seed and names give the same stream, whatever else was drawn."""

import hashlib


def stream_seed(seed: int, *names: str | int) -> int:
    """A 63-bit seed for the stream `names` of the run with `seed`; distinct names give unrelated streams."""
    key = "\x1f".join([str(seed), *(f"{type(name).__name__}:{name}" for name in names)])
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big") >> 1
