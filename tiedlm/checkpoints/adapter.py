"""Folders that hold an adapter of PEFT, not a model: does it break the tie of its base? Free of torch."""

from tiedlm.checkpoints.checkpoint_files import CheckpointFiles
from tiedlm.checkpoints.compare_bytes import Comparison
from tiedlm.checkpoints.findings import Finding
from tiedlm.checkpoints.json_text import shown
from tiedlm.checkpoints.stored_tensor import Tensors

_CONFIG = "adapter_config.json"
_INPUTS = ("embed_tokens", "wte", "embed_in", "word_embeddings", "tok_embeddings")
_OUTPUTS = ("lm_head", "embed_out", "output")


def adapter_findings(
    files: CheckpointFiles, tensors: Tensors, comparison: Comparison | None
) -> tuple[tuple[Finding, ...], tuple[str, ...]] | None:
    """What is found, and what else is to be said, of an adapter; None where the folder holds none."""
    if "config.json" in files.names:
        return None
    config = files.json(_CONFIG)
    if config is None:
        return None
    base = config.get("base_model_name_or_path")
    sides = {side for side, names in (("input", _INPUTS), ("output", _OUTPUTS)) if _touches(names, tensors)}
    about = f"An adapter of {shown(base)}" if base else "An adapter"
    if not sides:
        return (), (f"{about} that changes neither embedding: it is tied as its base is.",)
    if len(sides) == 2 and comparison is not None and comparison.may_be_equal:
        return (), (f"{about} with equal matrices of its own for input and output: merged, they are still one.",)
    if len(sides) == 2:
        message = f"{about} with a matrix of its own for input and output: on a tied base they are no longer one."
    else:
        message = f"{about} that changes the {sides.pop()} embedding alone: on a tied base, merging it unties the two."
    way_out = "With a tied base train both as one (ensure_weight_tying in PEFT), or untie the base before training."
    return (Finding("adapter", message, way_out),), ()


def _touches(names: tuple[str, ...], tensors: Tensors) -> bool:
    return any({*names} & {*name.split(".")} for name in tensors if not any(p.isdigit() for p in name.split(".")))
