"""`audit`: is a checkpoint tied? Bytes before flags, headers before bytes, and nothing in memory. Free of torch.

A file of torch.save is read by torch all the same, and that imports it.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tiedlm.checkpoints.adapter import adapter_findings
from tiedlm.checkpoints.checkpoint_files import (
    CheckpointFiles,
    WeightFiles,
    files_of_folder,
    kind_of_file,
    weight_files,
)
from tiedlm.checkpoints.compare_bytes import Comparison, compare
from tiedlm.checkpoints.findings import Finding, of_bytes, of_flag, verdict_of
from tiedlm.checkpoints.loaders import in_others, in_transformers
from tiedlm.checkpoints.matrix_names import StoredPair, find_pair, may_be_of_pair
from tiedlm.checkpoints.read_tensors import read_tensors
from tiedlm.checkpoints.refusal import unreadable
from tiedlm.checkpoints.tie_flag import TieFlag, read_flag
from tiedlm.checkpoints.verdict import IN_WORDS, Verdict, judge

_REMOTE_SAMPLE = 8
"""Blocks of a matrix on a hub that are compared where nobody says how many."""


@dataclass(frozen=True)
class Audit:
    """What was found of one checkpoint.

    `flag`: as its config says it, None where it does not. `loaders`: what each makes of it, in words.
    `transferred_bytes`: what came from a hub, None where nothing had to.
    """

    path: str
    verdict: Verdict
    flag: bool | None
    flag_in_words: str
    pair: StoredPair
    comparison: Comparison | None
    findings: tuple[Finding, ...] = ()
    loaders: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    transferred_bytes: int | None = None

    def document(self) -> dict[str, Any]:
        """As in the JSON of `audit`."""
        stored = {"input": self.pair.input, "output": self.pair.output}
        comparison = self.comparison
        return {
            "path": self.path,
            "verdict": self.verdict,
            "verdict_in_words": IN_WORDS[self.verdict],
            "flag": self.flag,
            "flag_in_words": self.flag_in_words,
            "stored": {side: tensor and tensor.document() for side, tensor in stored.items()},
            "equal": comparison and comparison.equal,
            "equal_in_words": comparison.in_words() if comparison else None,
            "blocks": comparison and {"compared": comparison.num_compared, "all": comparison.num_blocks},
            "loaders": self.loaders,
            "findings": [
                {"kind": each.kind, "message": each.message, "way_out": each.way_out} for each in self.findings
            ],
            "notes": [*self.notes],
            "transferred_bytes": self.transferred_bytes,
        }


def audit_path(path: Path, sample: int | None = None) -> Audit:
    """Audit a folder of a checkpoint, or one of its files. Raises ConfigError where it cannot be read."""
    if path.is_dir():
        return audit_files(files_of_folder(path), sample)
    if not path.exists():
        raise unreadable(path, "no such file or folder")
    kind = kind_of_file(path.name)
    if kind is None:
        raise unreadable(path, "is none of .safetensors, .bin, .pt, .pth, .gguf")
    folder = files_of_folder(path.parent)
    files = CheckpointFiles(str(path), folder.names, folder.open, path.parent)
    return audit_files(files, sample, WeightFiles(kind, [path.name]))


def audit_files(files: CheckpointFiles, sample: int | None = None, weights: WeightFiles | None = None) -> Audit:
    """Audit a checkpoint; `weights` says which of its files hold them, where not all do that may."""
    weights = weights or weight_files(files)
    tensors = read_tensors(files, weights, may_be_of_pair)
    pair = find_pair(tensors)
    comparison = compare_pair(pair, sample)
    if weights.kind == "gguf":
        return _of_gguf(files.place, pair, comparison)
    adapted = adapter_findings(files, tensors, comparison)
    if adapted is not None:
        findings, notes = adapted
        return Audit(files.place, "unknown", None, "that of the base", pair, comparison, findings, notes=notes)
    config = files.json("config.json")
    if config is None:
        return _without_config(files.place, pair, comparison)
    return _of_config(files.place, read_flag(config, f"{files.place}, config.json"), pair, comparison)


def compare_pair(pair: StoredPair, sample: int | None) -> Comparison | None:
    """Whether the two matrices are equal; None where one of them is not there."""
    if pair.input is None or pair.output is None:
        return None
    if sample is None and pair.input.source.is_remote:
        sample = _REMOTE_SAMPLE
    return compare(pair.input, pair.output, sample)


def _of_config(place: str, flag: TieFlag, pair: StoredPair, comparison: Comparison | None) -> Audit:
    findings = [*of_flag(flag, pair, comparison)]
    for value in sorted({flag.in_v5, *([] if flag.in_v4 is None else [flag.in_v4])}):
        findings.extend(of_bytes(value, pair, comparison, flag))
    loaders = {
        "transformers 4": in_transformers(4, flag.in_v4, pair, comparison),
        "transformers 5": in_transformers(5, flag.in_v5, pair, comparison),
        "others": in_others(flag.in_v5, pair, comparison),
    }
    findings.extend(_of_names(pair))
    verdict = verdict_of(flag, pair, comparison)
    return Audit(place, verdict, flag.stated, flag.in_words(), pair, comparison, tuple(findings), loaders)


def _of_names(pair: StoredPair) -> Iterator[Finding]:
    if pair.rivals:
        names = ", ".join(pair.rivals[:3])
        yield Finding("several_matrices", f"These could be meant as well, and were not compared: {names}.")


def _of_gguf(place: str, pair: StoredPair, comparison: Comparison | None) -> Audit:
    """A GGUF file has no flag: without output.weight the head is token_embd.weight."""
    is_tied = pair.output is None
    verdict = judge(is_tied, pair, comparison)
    findings = [*of_bytes(is_tied, pair, comparison)]
    if verdict == "untied_equal":
        way_out = "Convert it again without the head."
        findings = [Finding(verdict, "Both matrices are stored with equal values.", way_out)]
    elif verdict == "head_missing":
        findings = [Finding(verdict, "Only output.weight is stored, without token_embd.weight.", "Convert it again.")]
    loaders = {"llama.cpp": "tied" if is_tied else "two matrices"}
    return Audit(place, verdict, None, "GGUF has none", pair, comparison, tuple(findings), loaders)


def _without_config(place: str, pair: StoredPair, comparison: Comparison | None) -> Audit:
    if pair.input is None and pair.output is None:
        findings = [*of_bytes(False, pair, comparison)]
    else:
        how = comparison.in_words() if comparison else "one matrix is stored"
        message = f"No config.json says whether it is tied ({how})."
        findings = [Finding("no_config", message, "Audit the folder that has config.json beside the weights.")]
    return Audit(place, "unknown", None, "no config.json", pair, comparison, tuple(findings))
