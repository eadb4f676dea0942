"""Time and memory of each measure of embeddings, on made-up numbers: called by `bench_embeddings`.

Each line is one measure by itself: what it shares with others is worked out again. peak: how far the process grows
beyond the two matrices, in MiB. figure: what came out, beside its value for independent matrices.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import time
from collections.abc import Callable, Mapping

import torch
from timing import machine_in_words

from tiedlm.embeddings.alignment import identity, linear, orthogonal
from tiedlm.embeddings.frequency import frequency
from tiedlm.embeddings.isotropy import effective_rank, isotropy, normal_effective_rank, normal_isoscore
from tiedlm.embeddings.matrix import Matrix, MatrixPair
from tiedlm.embeddings.movement import movement
from tiedlm.embeddings.neighbours import nearest, overlap_chance, overlaps, queries
from tiedlm.embeddings.similarity import linear_cka, symmetric_share
from tiedlm.training.memory import host_rss, read_peaks, reset_peaks

MIB = 2**20
HEADER = f"{'measure':<14}{'seconds':>10}{'peak':>10}{'figure':>12}{'by chance':>12}"
CPU = torch.device("cpu")
Figure = tuple[float, float]
"""What was measured, and its value for independent matrices."""


def measures(one: torch.Tensor, other: torch.Tensor, num_queries: int | None) -> Mapping[str, Callable[[], Figure]]:
    """Each measure of two matrices (V, D), by its name; every call starts from the matrices alone."""
    num_rows, dim = one.shape
    counts = torch.arange(1, num_rows + 1)

    def pair() -> MatrixPair:
        return MatrixPair(Matrix(one), Matrix(other))

    def overlap() -> float:
        places = queries(num_rows, num_queries)
        return float(overlaps(*(nearest(Matrix(rows), places)[1] for rows in (one, other))).mean())

    return {
        "identity": lambda: (identity(pair()).held_out, 0.0),
        "orthogonal": lambda: (orthogonal(pair()).held_out, 0.0),
        "linear": lambda: (linear(pair()).held_out, 0.0),
        "cka": lambda: linear_cka(pair()),
        "symmetry": lambda: symmetric_share(pair()) or (0.0, 0.0),
        "neighbours": lambda: (overlap(), overlap_chance(num_rows)),
        "isotropy": lambda: (isotropy(Matrix(one)).isoscore or 0.0, normal_isoscore(num_rows, dim) or 0.0),
        "rank": lambda: (effective_rank(Matrix(one)), normal_effective_rank(num_rows, dim)),
        "frequency": lambda: (frequency(Matrix(one), counts).r2 or 0.0, 0.0),
        "distance": lambda: (float(movement(pair()).distance.mean()), 2**0.5),
    }


def row(name: str, measure: Callable[[], Figure]) -> str:
    """Its row of the table."""
    reset_peaks(CPU)
    before, began = host_rss(), time.perf_counter()
    value, chance = measure()
    seconds, peak = time.perf_counter() - began, read_peaks(CPU).host_rss
    growth = "" if peak is None or before is None else f"{(peak - before) / MIB:,.0f}"
    return f"{name:<14}{seconds:>10,.1f}{growth:>10}{value:>12.5g}{chance:>12.5g}"


def main(arguments: list[str] | None = None) -> None:
    """Print a line for each measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", type=int, default=128_256, help="rows (default: %(default)s)")
    parser.add_argument("--dim", type=int, default=2048, help="columns (default: %(default)s)")
    parser.add_argument("--queries", type=int, default=10_000, help="for neighbours; 0: all (default: %(default)s)")
    parser.add_argument("--measures", nargs="+", help="some of them by name")
    asked = parser.parse_args(arguments)
    generator = torch.Generator().manual_seed(0)
    one, other = (torch.randn(asked.vocab, asked.dim, generator=generator) * 0.02 for _ in range(2))
    found = measures(one, other, asked.queries or None)
    for name in asked.measures or ():
        if name not in found:
            parser.error(f"--measures {name}: not one of {', '.join(found)}")
    size = one.numel() * 4 / MIB
    print(f"{machine_in_words(CPU)}; V={asked.vocab:,}, D={asked.dim:,}, two matrices of {size:,.0f} MiB; MiB")
    print(HEADER)
    for name in asked.measures or found:
        print(row(name, found[name]), flush=True)


if __name__ == "__main__":
    main()
