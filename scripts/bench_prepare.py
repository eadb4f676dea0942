"""How fast a text becomes tokens and in how much memory, stage by stage: called by `bench_prepare`.

Each figure is of a process of its own: the seconds of the stage alone, and the peak resident size (VmHWM) of the whole
process, the libraries that it imports among it. The recipe beside ours is how language models are commonly trained
with `datasets`: the text as a data set of lines, mapped to ids and masks, mapped to blocks of ids and labels; it calls
the `tokenizers` library itself, with the same tokenizer, which is the quickest that it can be.
"""
# ruff: noqa: T201 (its output is what it prints)

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.metadata import version
from itertools import chain
from pathlib import Path

from tiedlm.config.base import parse
from tiedlm.data.build_tokenizer import load_tokenizer, train_tokenizer
from tiedlm.data.config import DataConfig
from tiedlm.data.counting import count_text
from tiedlm.data.documents import Text
from tiedlm.data.prepare import prepare
from tiedlm.data.python_docs import PythonDocs
from tiedlm.data.text import TextFile
from tiedlm.data.tokens import clear, write_split
from tiedlm.talk import SILENT

BLOCK = 512
ALTERED = 0.15
"""The share of its rare words that each copy of a text alters, so that new words come up as in a text that goes on."""


def main() -> None:
    """Print a line for each stage and size of text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, help="a UTF-8 file to make the text of (default: Python's documentation)")
    parser.add_argument("--mb", type=int, nargs="+", default=[30], help="sizes of text in MB (default: 30)")
    parser.add_argument("--vocab-size", type=int, default=32_000, help="of the BPE tokenizer (default: %(default)s)")
    parser.add_argument("--rounds", type=int, default=3, help="times that each stage runs (default: %(default)s)")
    parser.add_argument("--stages", nargs="+", choices=STAGES, default=list(STAGES), help="default: all")
    parser.add_argument("--run", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.run:
        stage, folder = asked.run
        print(json.dumps(run(stage, Path(folder), asked.vocab_size)))
        return
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, {versions()}, V={asked.vocab_size:,}")
    source = asked.text.read_text(encoding="utf-8") if asked.text else python_docs()
    for size in asked.mb:
        with tempfile.TemporaryDirectory() as folder:
            num_types = write_text(Path(folder, "text.txt"), source, size * 1_000_000)
            print(f"\n{size} MB of text, {num_types:,} different words, medians of {asked.rounds} interleaved rounds")
            table(Path(folder), asked)


def versions() -> str:
    """The libraries that do the work; nothing here computes with torch."""
    return ", ".join(f"{name} {version(name)}" for name in ("tokenizers", "datasets", "numpy", "torch"))


def table(folder: Path, asked: argparse.Namespace) -> None:
    """Run the stages on the text in `folder`, in turns, and print their medians."""
    for kind, stages in NEEDED.items():
        if stages & set(asked.stages):
            child(f"learn {kind}", folder, asked.vocab_size)
    figures: dict[str, list[dict[str, float]]] = {stage: [] for stage in asked.stages}
    for _ in range(asked.rounds):
        for stage, found in figures.items():
            found.append(child(stage, folder, asked.vocab_size))
    middle = {
        stage: {key: statistics.median(one[key] for one in found) for key in found[0]}
        for stage, found in figures.items()
    }
    recipe = middle.get("datasets.map")
    print(f"{'stage':<36}{'MB/s':>8}{'seconds':>10}{'peak MiB':>10}{'growth':>8}{'speed':>9}{'memory':>9}")
    for stage, one in middle.items():
        line = f"{STAGES[stage][0]:<36}{one['mb_per_second']:>8.1f}{one['seconds']:>10.2f}{one['peak']:>10.0f}"
        ratios = ""
        if recipe and stage in COMPARED:
            ratios = f"{recipe['seconds'] / one['seconds']:>9.2f}{one['peak'] / recipe['peak']:>9.2f}"
        print(f"{line}{one['peak'] - one['before']:>8.0f}{ratios}")
    print("speed and memory: beside datasets.map in this run; growth: the peak above that after imports, MiB")


def child(stage: str, folder: Path, vocab_size: int) -> dict[str, float]:
    """The figures of one stage, from a process of its own."""
    command = [sys.executable, __file__, "--run", stage, str(folder), "--vocab-size", str(vocab_size)]
    quiet = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_DISABLE_PROGRESS_BARS": "1", "HF_HOME": str(folder / "home")}
    done = subprocess.run(command, env={**os.environ, **quiet}, stdout=subprocess.PIPE, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def run(stage: str, folder: Path, vocab_size: int) -> dict[str, float]:
    """Prepare a stage (imports, the tokenizer), then time it."""
    action = STAGES[stage][1](folder, vocab_size)
    before, began = peak_mib(), time.perf_counter()
    action()
    seconds = time.perf_counter() - began
    rate = (folder / "text.txt").stat().st_size / 1e6 / seconds
    return {"seconds": seconds, "mb_per_second": rate, "before": before, "peak": peak_mib()}


def peak_mib() -> float:
    """The largest resident size of this process so far."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


Stage = Callable[[Path, int], Callable[[], object]]
Ids = dict[str, list[list[int]]]


def config_of(folder: Path, kind: str, vocab_size: int) -> DataConfig:
    """The text in `folder` with a tokenizer."""
    tokenizer = {"type": kind, "vocab_size": vocab_size} if kind == "bpe" else {"type": kind}
    corpus = {"type": "text", "file": str(folder / "text.txt")}
    return parse(DataConfig, {"corpus": corpus, "tokenizer": tokenizer, "seq_len": BLOCK})


def rows_in(folder: Path) -> TextFile:
    """The text in `folder`."""
    return TextFile("text", folder / "text.txt", "paragraphs")


def counting(folder: Path, vocab_size: int) -> Callable[[], object]:
    """Reading all rows once for their counts and their hash."""
    text: Text = {"train": rows_in(folder), "validation": [], "test": []}
    return lambda: count_text(text)


def learning(kind: str) -> Stage:
    """Learning a tokenizer, which is kept for the stages that need one."""

    def stage(folder: Path, vocab_size: int) -> Callable[[], object]:
        import tokenizers  # noqa: F401 (not to be timed)

        config = config_of(folder, kind, vocab_size).tokenizer
        place = folder / kind
        place.mkdir(exist_ok=True)
        return lambda: train_tokenizer(config, rows_in(folder)).save(place)

    return stage


def encoding(kind: str) -> Stage:
    """Reading, encoding and writing."""

    def stage(folder: Path, vocab_size: int) -> Callable[[], object]:
        tokenizer = load_tokenizer(config_of(folder, kind, vocab_size).tokenizer, folder / kind)
        clear(folder / "tokens")
        return lambda: write_split(folder / "tokens", "train", tokenizer.encode_rows(rows_in(folder)), tokenizer)

    return stage


def preparing(folder: Path, vocab_size: int) -> Callable[[], object]:
    """All that `tiedlm prepare` does, in a new cache."""
    import tokenizers  # noqa: F401 (not to be timed)

    cache = Path(tempfile.mkdtemp(dir=folder))
    return lambda: prepare(config_of(folder, "bpe", vocab_size), cache, SILENT)


def mapping(folder: Path, vocab_size: int) -> Callable[[], object]:
    """The recipe: lines to a data set, to ids, to blocks, in a new cache."""
    import datasets
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "bpe" / "tokenizer.json"))
    cache = tempfile.mkdtemp(dir=folder)
    files = {"train": str(folder / "text.txt")}

    def tokenized(rows: dict[str, list[str]]) -> Ids:
        found = tokenizer.encode_batch(rows["text"])
        return {"input_ids": [one.ids for one in found], "attention_mask": [one.attention_mask for one in found]}

    def grouped(rows: Ids) -> Ids:
        joined = {key: list(chain.from_iterable(values)) for key, values in rows.items()}
        whole = len(joined["input_ids"]) // BLOCK * BLOCK
        blocks = {key: [ids[i : i + BLOCK] for i in range(0, whole, BLOCK)] for key, ids in joined.items()}
        return {**blocks, "labels": blocks["input_ids"].copy()}

    def action() -> None:
        lines = datasets.load_dataset("text", data_files=files, cache_dir=cache, keep_linebreaks=True)["train"]
        lines.map(tokenized, batched=True, remove_columns=["text"]).map(grouped, batched=True)

    return action


STAGES: dict[str, tuple[str, Stage]] = {
    "count": ("reading and counting", counting),
    "learn bpe": ("learning BPE", learning("bpe")),
    "learn word": ("learning words", learning("word")),
    "encode bpe": ("encoding and writing, BPE", encoding("bpe")),
    "encode word": ("encoding and writing, words", encoding("word")),
    "encode byte": ("encoding and writing, bytes", encoding("byte")),
    "prepare": ("tiedlm prepare with BPE, all of it", preparing),
    "datasets.map": ("datasets.map, tokenizer learned", mapping),
}
COMPARED = ("encode bpe", "datasets.map")
NEEDED = {"bpe": {"encode bpe", "datasets.map"}, "word": {"encode word"}}
"""Which stages a learned tokenizer is needed for."""


def python_docs() -> str:
    """The text of the embedded corpus."""
    text = PythonDocs().read(SILENT)
    return "".join(row.text for split in text.values() for row in split)


def write_text(path: Path, source: str, num_bytes: int) -> int:
    """Write `source` again and again with other rare words until there is enough; gives the number of words."""
    lines = [line.split(" ") for line in source.splitlines()]
    counts = Counter(chain.from_iterable(lines))
    rare = {word for word, count in counts.items() if count == 1 and len(word) > 3}
    draw, written, types = random.Random(0), 0, set[str]()
    with path.open("w", encoding="utf-8") as file:
        while written < num_bytes:
            for line in lines:
                words = [altered(word, draw) if word in rare and draw.random() < ALTERED else word for word in line]
                types.update(words)
                written += len(row := (" ".join(words) + "\n").encode())
                file.write(row.decode())
                if written >= num_bytes:
                    break
    return len(types)


def altered(word: str, draw: random.Random) -> str:
    """`word` with two other letters."""
    letters: Iterable[int] = draw.sample(range(len(word)), 2)
    spelled = list(word)
    for index in letters:
        spelled[index] = draw.choice("abcdefghijklmnoprstuvwy")
    return "".join(spelled)


if __name__ == "__main__":
    main()
