"""`tiedlm audit` beside the installed transformers, of version 4 or 5. Called by `check_audit`.

Four things are checked. The defaults of `tie_word_embeddings` that the audit has for families with an absent flag are
those of the config classes. Composite configs make of a flag at their top and one in their text config what the audit
says. What `save_pretrained` writes of tiny models of seven families, tied and untied, gets that verdict. And each case
of flag and stored matrices is opened with the library: whether the two are one afterwards, and whose values they have,
must be what the audit says of this version. Exit code 1 where anything differs.
"""
# ruff: noqa: T201 (its output is what it prints)

import copy
import itertools
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch
import transformers
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING
from transformers.models.auto.modeling_auto import (
    MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
    MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
)

from tiedlm.checkpoints.audit import audit_path
from tiedlm.checkpoints.class_defaults import default_in_v4, default_in_v5
from tiedlm.checkpoints.tie_flag import KEY, read_flag

VERSION = int(transformers.__version__.partition(".")[0])
SIZES = {
    **dict.fromkeys(("vocab_size",), 37),
    **dict.fromkeys(("hidden_size", "n_embd", "word_embed_proj_dim", "intermediate_size", "ffn_dim"), 16),
    **dict.fromkeys(("num_attention_heads", "n_head", "num_heads", "num_key_value_heads"), 2),
    **dict.fromkeys(("num_hidden_layers", "n_layer", "num_layers"), 1),
    "head_dim": 8,
    "max_position_embeddings": 32,
    "n_positions": 32,
    "attention_types": [[["global"], 1]],
    "pad_token_id": 0,
    "bos_token_id": 0,
    "eos_token_id": 0,
}
FAMILIES = ("gpt2", "llama", "qwen2", "gemma2", "gpt_neox", "opt", "gpt_neo")
CASES = ("input", "output", "equal", "unequal", "none")


def config_of(family: str, **more: Any) -> Any:
    """A tiny config of a family; each family takes those of the sizes that it knows."""
    known = CONFIG_MAPPING[family]().to_dict() | {"attention_types": None}
    sizes = {key: value for key, value in SIZES.items() if key in known}
    if family != "gpt_neo":
        sizes.pop("attention_types", None)
    return AutoConfig.for_model(family, **sizes, **more)


def _classes() -> Iterator[tuple[str, Any]]:
    """The config classes of causal and image-text models, and of the text models inside them."""
    for family in sorted({*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, *MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES}):
        config = CONFIG_MAPPING[family]
        yield family, config
        inner = (getattr(config, "sub_configs", None) or {}).get("text_config")
        if getattr(inner, "model_type", ""):
            yield inner.model_type, inner


def differing_defaults() -> Iterator[str]:
    """The families whose class has another default than the audit says."""
    ours = default_in_v5 if VERSION >= 5 else default_in_v4
    for family, config in _classes():
        try:
            theirs = getattr(config(), "tie_word_embeddings", False)
        except Exception as error:  # noqa: BLE001 (some cannot be made without arguments)
            print(f"  {family} has no default config ({type(error).__name__})")
            continue
        if bool(theirs) is not ours(family):
            yield f"{family}: the class has {theirs}, the audit {ours(family)}"


def differing_composites() -> Iterator[str]:
    """The composite configs that make another flag of what they and their text config say than the audit does."""
    for family, config in _classes():
        try:
            raw = config().to_dict()
        except Exception:  # noqa: BLE001 (named above)
            continue
        if not isinstance(raw.get("text_config"), dict):
            continue
        for top, text in itertools.product((True, False, None), repeat=2):
            inner = {key: value for key, value in raw["text_config"].items() if key != KEY}
            outer = {key: value for key, value in raw.items() if key != KEY} | {"text_config": inner}
            for place, value in ((outer, top), (inner, text)):
                place.update({} if value is None else {KEY: value})
            ours = read_flag(outer, family)
            made = config.from_dict(copy.deepcopy(outer))
            theirs = getattr(made if VERSION >= 5 else made.get_text_config(decoder=True), KEY, None)
            said = ours.in_v5 if VERSION >= 5 else ours.in_v4
            if said is not None and bool(theirs) is not said:
                yield f"{family}, {KEY} {top} at the top and {text} in text_config: it takes {theirs}, the audit {said}"


def wrong_verdicts(folder: Path) -> Iterator[str]:
    """Of what `save_pretrained` writes."""
    for family in FAMILIES:
        for is_tied in (True, False):
            path = folder / f"{family}-{is_tied}"
            AutoModelForCausalLM.from_config(config_of(family, tie_word_embeddings=is_tied)).save_pretrained(path)
            audit = audit_path(path)
            stated = "tied" if is_tied else "untied"
            pair = audit.pair
            names = " + ".join(each.name for each in (pair.input, pair.output) if each)
            print(f"  {family:9} {stated:7} {audit.verdict:14} flag {audit.flag_in_words:16} {names}")
            as_stored = (pair.output is None) == is_tied
            right = audit.verdict in (stated, "class_default") and not audit.findings and as_stored
            if not right:
                yield f"{family}, saved {stated}: {audit.verdict}, {[each.kind for each in audit.findings]}"


def planted(family: str, flag: bool | None, case: str, folder: Path) -> tuple[Path, torch.Tensor, torch.Tensor]:
    """A checkpoint with this flag and these matrices, and the values of the two."""
    path = folder / f"{family}-{flag}-{case}"
    model = AutoModelForCausalLM.from_config(config_of(family, tie_word_embeddings=False))
    model.save_pretrained(path)
    tensors = load_file(path / "model.safetensors")
    pair = audit_path(path).pair
    assert pair.input and pair.output
    first, second = tensors.pop(pair.input.name), tensors.pop(pair.output.name)
    if case in ("input", "equal", "unequal"):
        tensors[pair.input.name] = first
    if case in ("output", "equal", "unequal"):
        tensors[pair.output.name] = first.clone() if case == "equal" else second
    save_file(tensors, path / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((path / "config.json").read_text())
    config.pop("tie_word_embeddings", None)
    if flag is not None:
        config["tie_word_embeddings"] = flag
    (path / "config.json").write_text(json.dumps(config))
    return path, first, second


def opened(path: Path, first: torch.Tensor, second: torch.Tensor) -> str:
    """What the library makes of a checkpoint, in the words of the audit as far as they can be observed."""
    model = AutoModelForCausalLM.from_pretrained(path)
    embedding, head = model.get_input_embeddings().weight, model.get_output_embeddings().weight

    def of(weight: torch.Tensor) -> str:
        if weight.is_meta:
            return "no values"
        return "input" if torch.equal(weight, first) else "head" if torch.equal(weight, second) else "random"

    return f"{'one' if embedding is head else 'two'}: {of(embedding)}, {of(head)}"


EXPECTED = {
    "tied to the stored input embedding": {"one: input, input"},
    "tied to the stored head": {"one: head, head"},
    "opens with no values for either (4.57): the first use fails": {"one: no values, no values"},
    "draws the head at random, with a warning": {"two: input, random"},
    "draws the input embedding at random, with a warning": {"two: random, head"},
    "draws both at random, with a warning": {"one: random, random", "two: random, random"},
    "tied": {"one: input, input"},
    "two matrices": {"two: input, head", "two: input, input"},
    "two matrices as stored, with a warning": {"two: input, head"},
    "tied to the input embedding: the stored head is thrown away": {"one: input, input"},
}


def differing_openings(folder: Path) -> Iterator[str]:
    """The cases that the library opens in another way than the audit says."""
    for family in ("llama", "gpt2"):
        for flag in (True, False, None):
            for case in CASES:
                path, first, second = planted(family, flag, case, folder)
                said = audit_path(path).loaders[f"transformers {VERSION}"]
                seen = opened(path, first, second)
                print(f"  {family:6} {flag!s:6} {case:8} {seen:20} {said}")
                if seen not in EXPECTED[said]:
                    yield f"{path.name}: opened as {seen}, the audit says: {said}"


def main() -> int:
    """Check all three; returns 1 where something differs."""
    transformers.utils.logging.disable_progress_bar()
    print(f"transformers {transformers.__version__}")
    with tempfile.TemporaryDirectory() as folder:
        wrong = [
            *differing_defaults(),
            *differing_composites(),
            *wrong_verdicts(Path(folder)),
            *differing_openings(Path(folder)),
        ]
    print("\n".join(wrong) or "all as the audit says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
