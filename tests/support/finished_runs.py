"""Results of runs that could have been, for tests of what is made of results."""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.finished_runs import FinishedRuns
from tiedlm.comparison.question import Question
from tiedlm.comparison.stored_scores import MetricsOf, ScoresOf
from tiedlm.comparison.summarize import summarize as summarize_finished
from tiedlm.run.folder import RunFolder, raw_config
from tiedlm.run.layout import Run
from tiedlm.run.result import (
    Corpus,
    CurvePoint,
    Effective,
    Hashes,
    Memory,
    ParameterCounts,
    RunFailure,
    RunResult,
    SplitResult,
    UpdateRatios,
)

TOKENS = 287_645
WORDS = 245_569
BYTES = 1_256_449


def split_result(nats: float, **changes: Any) -> SplitResult:
    """A split of TOKENS targets scored at `nats` each."""
    values: dict[str, Any] = {
        "nll": nats * TOKENS,
        "tokens": TOKENS,
        "words": WORDS,
        "bytes": BYTES,
        "rows": 4_358,
        "documents": 60,
        "unigram_nll": math.log(1_000) * TOKENS,
        "seq_len": 512,
        "stride": 512,
    }
    return SplitResult(**values | changes)


def effective(**changes: Any) -> Effective:
    """What a CPU run came out with."""
    values: dict[str, Any] = {
        "device": "cpu",
        "device_name": "Any CPU",
        "precision": "fp32",
        "compile": False,
        "micro_batch_size": 16,
        "num_threads": 2,
        "fused_optimizer": True,
        "arithmetic": 4,
    }
    return Effective(**values | changes)


def hashes(seed: int = 0, **changes: Any) -> Hashes:
    """Hashes that depend on the seed alone, where the seed should matter."""
    values: dict[str, Any] = {
        "body": f"{seed:04x}b0d1" * 8,
        "input_embedding": f"{seed:04x}e3be" * 8,
        "batches": f"{seed:04x}ba7c" * 8,
        "corpus": "c0c0c0c0" * 8,
        "tokens": "70cecece" * 8,
    }
    return Hashes(**values | changes)


def parameters(tying: str = "tied") -> ParameterCounts:
    """GPT-2 small, tied or untied."""
    matrix = 38_597_376
    parts = {
        "input_embedding": 0 if tying == "tied" else matrix,
        "output_embedding": 0 if tying == "tied" else matrix,
        "shared_embedding": matrix if tying == "tied" else 0,
        "positions": 786_432,
        "body": 85_054_464,
        "final_norm": 1_536,
        "output_bias": 0,
    }
    return ParameterCounts(
        total=sum(parts.values()), non_embedding=85_056_000, flops_per_token=741_857_280, parts=parts
    )


def run_result(variant: str = "tied", seed: int = 0, nats: float = 4.0, **changes: Any) -> RunResult:
    """A finished run whose test split cost `nats` a token, validation and train a little else."""
    tying = changes.get("tying", "tied" if variant.startswith("tied") else "untied")
    values: dict[str, Any] = {
        "config": {
            "name": "example",
            "variant": variant,
            "seed": seed,
            "data": {"corpus": {"type": "wikitext", "name": "wikitext-103-v1"}, "seq_len": 512},
            "model": {"type": "transformer", "dim": 768, "tying": {"type": tying}},
            "training": {"tokens": 100_000_000, "learning_rate": 6e-4, "device": "auto"},
        },
        "variant": variant,
        "seed": seed,
        "tying": tying,
        "steps": 3_052,
        "tokens_seen": 100_007_936,
        "first_loss": 10.82490158,
        "last_loss": nats - 0.1,
        "parameters": parameters(tying),
        "splits": {
            "train": split_result(nats - 0.2),
            "validation": split_result(nats + 0.05),
            "test": split_result(nats),
        },
        "corpus": Corpus(
            caption="WikiText-103 (wikitext-103-v1)",
            details={"name": "wikitext-103-v1"},
            vocab_size=32_000,
            tokenizer="byte-level BPE, 32,000 types",
        ),
        "effective": effective(),
        "hashes": hashes(seed),
        "memory": Memory(
            gpu_peak_allocated_bytes=None,
            gpu_peak_reserved_bytes=None,
            predicted_peak_bytes=None,
            host_peak_rss_bytes=1_234_567_890,
        ),
        "steady_tokens": 98_000_000,
        "steady_seconds": 1_000.0 + seed,
        "seconds": 1_100.5 + seed,
        "versions": {"torch": "2.13.0", "python": "3.11.7"},
    }
    return RunResult(**values | changes)


def curve(run: RunResult, num_points: int = 4) -> list[CurvePoint]:
    """A run validated `num_points` times, the last time at its end."""
    end = run.splits["validation"].nll / run.splits["validation"].tokens
    shares = [(number + 1) / num_points for number in range(num_points)]
    return [
        CurvePoint(
            step=round(share * run.steps),
            tokens=round(share * run.tokens_seen),
            seconds=share * run.steady_seconds,
            nats_per_token=end + 2 * (1 - share),
        )
        for share in shares
    ]


TIED_NATS = (4.01, 4.022, 3.995, 4.013, 4.004)
UNTIED_NATS = (4.043, 4.05, 4.029, 4.041, 4.037)


def runs(variant: str, nats: Sequence[float], **changes: Any) -> list[RunResult]:
    """One finished run for each of the values, with seeds 0, 1, 2, ..."""
    return [run_result(variant, seed, value, **changes) for seed, value in enumerate(nats)]


def summarize(
    results: Sequence[RunResult],
    failures: Sequence[RunFailure],
    name: str,
    baseline: str,
    order: Sequence[str],
    planned: dict[str, tuple[int, ...]] | None = None,
    *,
    scores_of: ScoresOf | None = None,
    metrics_of: MetricsOf | None = None,
    **question: Any,
) -> Comparison:
    """The comparison of some results, all of it in one call."""
    asked = Question(name=name, baseline=baseline, order=tuple(order), planned=planned, **question)
    return summarize_finished(FinishedRuns.of(results, asked, scores_of, metrics_of), failures)


def compared(*results: RunResult, baseline: str = "untied") -> Comparison:
    """The comparison of some results with untied, the variants in the order in which they come."""
    return summarize(results, [], "example", baseline, list(dict.fromkeys(run.variant for run in results)))


def example_comparison(num_seeds: int = 5, **changes: Any) -> Comparison:
    """Tied and untied GPT-2 small on WikiText-103; `changes` go into every run."""
    results = [
        *runs("tied", TIED_NATS[:num_seeds], **changes),
        *runs("untied", UNTIED_NATS[:num_seeds], **changes),
    ]
    return summarize(results, [], name="example", baseline="untied", order=["tied", "untied"])


_NUM_TOKENS, _NUM_DOCUMENTS, _NUM_STEPS = 400, 12, 4


def store_run(run: Run, draw: np.random.Generator) -> None:
    """Leave in its folder what a run leaves, its scores drawn at random and everything else in keeping with them."""
    folder = RunFolder(run.directory)
    folder.claim(run.config)
    document = np.arange(_NUM_TOKENS) * _NUM_DOCUMENTS // _NUM_TOKENS
    splits = {}
    for split in ("validation",) if run.config.is_tuning_run else ("validation", "test"):
        nll = draw.gamma(4.0, 1.0 if run.config.variant == "tied" else 1.01, _NUM_TOKENS).astype(np.float32)
        total = float(nll.sum(dtype=np.float64))
        splits[split] = split_result(0, nll=total, tokens=_NUM_TOKENS, documents=_NUM_DOCUMENTS)
        folder.evaluation_file(split).parent.mkdir(exist_ok=True)
        target = np.arange(_NUM_TOKENS) % 97
        np.savez_compressed(folder.evaluation_file(split), nll=nll, target=target, document=document)
    losses = [float(loss) for loss in draw.gamma(4.0, 1.0, _NUM_STEPS)]
    lines: list[dict[str, Any]] = [
        {
            "step": step,
            "loss": loss,
            "learning_rate": 1e-3,
            "gradient_norm": 1.0,
            "tokens": 64 * step,
            "seconds": round(step / 3, 4),
        }
        for step, loss in enumerate(losses, start=1)
    ]
    ratios = {"input_embedding": 0.125, "body": 0.25}
    lines[1]["update_ratios"] = ratios
    lines.insert(2, {"step": 2, "tokens": 128, "validation_nll": 1_234.5, "validation_tokens": _NUM_TOKENS})
    folder.metrics_file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    validation = splits["validation"].nll / _NUM_TOKENS
    curve = [
        CurvePoint(step=2, tokens=128, seconds=0.6667, nats_per_token=1_234.5 / _NUM_TOKENS),
        CurvePoint(step=4, tokens=256, seconds=4 / 3, nats_per_token=validation),
    ]
    config, seed = run.config, run.config.seed
    folder.finish(
        run_result(
            config.variant,
            seed,
            config=raw_config(config),
            tying=config.model.tying.type,
            splits=splits,
            steps=_NUM_STEPS,
            tokens_seen=64 * _NUM_STEPS,
            first_loss=losses[0],
            last_loss=losses[-1],
            seconds=4 / 3,
            validation_curve=curve,
            update_ratios=UpdateRatios(steps=[2], by_part={part: [ratio] for part, ratio in ratios.items()}),
            effective=effective(),
            hashes=hashes(seed),
        )
    )
