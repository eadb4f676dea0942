"""Which tensors of a checkpoint are its input and its output embedding, by their names. Free of torch."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from tiedlm.checkpoints.stored_tensor import StoredTensor, Tensors

_INPUT = r"embed_tokens|wte|embed_in|tok_embeddings|word_embeddings|token_embd|shared"
_OUTPUT = r"lm_head|embed_out|output"
_WRAPPED = r"(?:\.(?:base_layer|original_module|modules_to_save(?:\.\w+)?|_fsdp_wrapped_module|_orig_mod))*"
"""What PEFT, FSDP and compile put between a module and its weight."""
_WEIGHT = r"(?:weight|qweight|weight_packed)"
_OURS = {"input": r"tying\.(?:input_embedding|input_table)", "output": r"tying\.(?:output_embedding|output_table)"}
_SIDES = {
    side: re.compile(rf"(?:^|.*\.)(?:(?:{names}){_WRAPPED}\.{_WEIGHT}|{_OURS[side]})")
    for side, names in (("input", _INPUT), ("output", _OUTPUT))
}
_TEXT = re.compile(r"language_model|text_model|\bdecoder\b|thinker")


@dataclass(frozen=True)
class StoredPair:
    """The two matrices as stored, None where one is not there; `rivals`: names that could have been taken as well."""

    input: StoredTensor | None
    output: StoredTensor | None
    rivals: tuple[str, ...] = ()


def find_pair(tensors: Tensors) -> StoredPair:
    """The pair of the language model: not those of single layers, of a text part rather than another one."""
    inputs, outputs = (_candidates(tensors, side) for side in ("input", "output"))
    first, second = _chosen(inputs), _chosen(outputs)
    rivals = [*_rivals(inputs, first), *_rivals(outputs, second)]
    return StoredPair(first, second, tuple(rivals))


def may_be_of_pair(name: str) -> bool:
    """Whether a tensor of this name may be one of the two."""
    return any(pattern.fullmatch(name) for pattern in _SIDES.values())


def _candidates(tensors: Tensors, side: str) -> list[StoredTensor]:
    found = [tensor for name, tensor in tensors.items() if _SIDES[side].fullmatch(name) and len(tensor.shape) == 2]
    outside = [tensor for tensor in found if not any(part.isdigit() for part in tensor.name.split("."))]
    return sorted(outside, key=_rank)


def _rank(tensor: StoredTensor) -> tuple[bool, bool, int, str]:
    """First a trained copy of PEFT, then the text part of a composite model, then the fewest parts in the name."""
    name = tensor.name
    return ("modules_to_save" not in name, _TEXT.search(name) is None, name.count("."), name)


def _chosen(candidates: list[StoredTensor]) -> StoredTensor | None:
    return candidates[0] if candidates else None


def _rivals(candidates: Iterable[StoredTensor], chosen: StoredTensor | None) -> Iterable[str]:
    """Others of the same rank, which only their names set apart, and which are not the same memory."""
    for tensor in candidates:
        if chosen is None or tensor is chosen or (tensor.storage and tensor.storage == chosen.storage):
            continue
        if _rank(tensor)[:2] == _rank(chosen)[:2]:
            yield tensor.name
