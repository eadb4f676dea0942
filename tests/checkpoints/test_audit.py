"""The verdict on a checkpoint: every row of flag x what is stored, under every name, in every kind of file."""

from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.support.planted_checkpoints import (
    INPUT,
    OUTPUT,
    STORED,
    D,
    Stored,
    V,
    llama,
    plant,
    plant_shards,
    tensors,
    write_config,
)
from tiedlm.checkpoints.audit import Audit, audit_path

TABLE = {
    (True, "input"): "tied",
    (True, "output"): "tied",
    (True, "equal"): "tied_stored_twice",
    (True, "unequal"): "conflict",
    (False, "equal"): "untied_equal",
    (False, "unequal"): "untied",
    (False, "input"): "head_missing",
    (False, "output"): "head_missing",
    (True, "none"): "unknown",
    (False, "none"): "unknown",
}
NOTHING_FOUND = {"tied", "untied"}


def kinds(audit: Audit) -> list[str]:
    return [finding.kind for finding in audit.findings]


@pytest.mark.parametrize(("flag", "stored"), TABLE)
def test_a_flag_that_is_there_and_what_is_stored(flag: bool, stored: Stored, tmp_path: Path) -> None:
    audit = audit_path(plant(tmp_path, llama(flag), stored))
    assert audit.verdict == TABLE[flag, stored]
    is_well = audit.verdict in NOTHING_FOUND and stored != "output"
    assert is_well == (not audit.findings)
    document = audit.document()
    assert document["flag"] is flag
    assert document["equal"] == {"equal": True, "unequal": False}.get(stored)
    expected = {"name": INPUT, "shape": [V, D], "dtype": "F32", "file": "model.safetensors"}
    assert document["stored"]["input"] == (expected if stored in ("input", "equal", "unequal") else None)
    assert {*document["loaders"]} == {"transformers 4", "transformers 5", "others"}
    assert all(finding["way_out"] for finding in document["findings"] if finding["kind"] != "no_matrices")


def test_what_is_wasted_is_said_in_bytes(tmp_path: Path) -> None:
    (finding,) = audit_path(plant(tmp_path, llama(True), "equal")).findings
    assert f"{4 * V * D:,} bytes" in finding.message


@pytest.mark.parametrize("stored", STORED)
@pytest.mark.parametrize(("family", "default"), [("llama", False), ("gpt2", True)])
def test_an_absent_flag_is_that_of_the_class(family: str, default: bool, stored: Stored, tmp_path: Path) -> None:
    audit = audit_path(plant(tmp_path, {"model_type": family}, stored))
    assert audit.verdict == ("unknown" if stored == "none" else "class_default")
    assert audit.flag is None
    follows = {"tied": "input_missing" if stored == "output" else "", "untied": "", "unknown": "no_matrices"}
    kind = follows.get(TABLE[default, stored], TABLE[default, stored])
    assert kinds(audit) == ([kind] if kind else [])


def test_an_absent_flag_of_a_class_that_comes_with_its_checkpoint_differs_between_versions(tmp_path: Path) -> None:
    audit = audit_path(plant(tmp_path, {"model_type": "mine"}, "input"))
    assert (audit.verdict, kinds(audit)) == ("class_default", ["class_default", "head_missing"])
    assert "transformers 4 takes true, transformers 5 false" in audit.findings[0].message
    assert "tie_word_embeddings: true" in audit.findings[0].way_out


def test_a_flag_inside_the_text_config_alone_hangs_on_the_version(tmp_path: Path) -> None:
    config = {"model_type": "aria", "text_config": {"model_type": "llama", "tie_word_embeddings": True}}
    audit = audit_path(plant(tmp_path, config, "input"))
    assert audit.verdict == "composite" and kinds(audit)[0] == "composite"
    assert audit.loaders["transformers 4"] == "tied to the stored input embedding"
    assert audit.loaders["transformers 5"].startswith("draws the head at random")


def test_some_composite_configs_look_into_the_text_config_in_both_versions(tmp_path: Path) -> None:
    config = {"model_type": "llava", "text_config": {"model_type": "llama", "tie_word_embeddings": True}}
    audit = audit_path(plant(tmp_path, config, "input"))
    assert (audit.verdict, kinds(audit)) == ("composite", ["composite"])
    assert audit.loaders["transformers 5"] == "tied to the stored input embedding"


def test_a_composite_config_that_says_the_same_twice_is_plain(tmp_path: Path) -> None:
    text = {"model_type": "llama", "tie_word_embeddings": True}
    config = {"model_type": "aria", "tie_word_embeddings": True, "text_config": text}
    assert audit_path(plant(tmp_path / "same", config, "input")).verdict == "tied"
    config["tie_word_embeddings"] = False
    audit = audit_path(plant(tmp_path / "other", config, "input"))
    assert (audit.verdict, kinds(audit)) == ("composite", ["composite", "head_missing"])


@pytest.mark.parametrize(
    ("key", "value", "is_tied"),
    [("share_embedding", True, "tied"), ("untie_embeddings_and_output_weights", True, "not tied")],
)
def test_a_private_key_is_named_and_decides_nothing(key: str, value: bool, is_tied: str, tmp_path: Path) -> None:
    audit = audit_path(plant(tmp_path, {"model_type": "mine", key: value}, "input"))
    assert audit.verdict == "unknown"
    assert audit.findings[0].kind == "private_key"
    assert f"{key} says that it is {is_tied};" in audit.findings[0].message


@pytest.mark.parametrize("value", [True, False])
@pytest.mark.parametrize("stored", ["input", "unequal"])
def test_the_ways_out_of_a_private_key_do_not_contradict_it(value: bool, stored: Stored, tmp_path: Path) -> None:
    audit = audit_path(plant(tmp_path, {"model_type": "mine", "tie_embeddings": value}, stored))
    written = [each.way_out for each in audit.findings if each.way_out.startswith("Write")]
    assert len(written) == 2 and all(f"tie_word_embeddings: {str(value).lower()} into" in each for each in written)


NAMES = [
    ("transformer.wte.weight", "lm_head.weight"),
    ("wte.weight", "lm_head.weight"),
    ("gpt_neox.embed_in.weight", "embed_out.weight"),
    ("tok_embeddings.weight", "output.weight"),
    ("transformer.word_embeddings.weight", "lm_head.weight"),
    ("model.language_model.embed_tokens.weight", "lm_head.weight"),
    ("language_model.model.embed_tokens.weight", "language_model.lm_head.weight"),
    ("_orig_mod.module.model.embed_tokens.weight", "_orig_mod.module.lm_head.weight"),
    (
        "base_model.model.model.embed_tokens.base_layer.weight",
        "base_model.model.lm_head.modules_to_save.default.weight",
    ),
]


@pytest.mark.parametrize("names", NAMES)
def test_the_two_are_found_under_any_prefix(names: tuple[str, str], tmp_path: Path) -> None:
    audit = audit_path(plant(tmp_path, llama(False), "unequal", names))
    assert audit.verdict == "untied"
    assert audit.pair.input and audit.pair.output
    assert (audit.pair.input.name, audit.pair.output.name) == names


def test_matrices_of_single_layers_and_of_other_parts_are_not_taken_for_them(tmp_path: Path) -> None:
    others = {
        "model.layers.61.embed_tokens.weight": np.zeros((V, D), np.float32),
        "encoder.layer.0.attention.output.weight": np.zeros((D, D), np.float32),
        "vision_tower.embed_tokens.weight": np.zeros((V, D), np.float32),
        "lm_head.bias": np.zeros(V, np.float32),
    }
    write_config(tmp_path, llama(True))
    names = ("language_model.embed_tokens.weight", OUTPUT)
    save_file({**others, **tensors("input", names)}, tmp_path / "model.safetensors")
    audit = audit_path(tmp_path)
    assert (audit.verdict, audit.findings) == ("tied", ())
    assert audit.pair.input and audit.pair.input.name == names[0]


def test_two_that_only_their_names_set_apart_are_told(tmp_path: Path) -> None:
    write_config(tmp_path, llama(True))
    twins = {f"{part}.embed_tokens.weight": np.full((V, D), number, np.float32) for number, part in enumerate("ab")}
    save_file(twins, tmp_path / "model.safetensors")
    assert kinds(audit_path(tmp_path)) == ["several_matrices"]


def test_the_last_byte_decides_unless_blocks_are_sampled(tmp_path: Path) -> None:
    first = np.zeros((3 * 2**18, 8), np.float32)  # 24 MiB: six blocks
    second = first.copy()
    second.view(np.uint8)[-1, -1] = 1
    write_config(tmp_path, llama(True))
    save_file({INPUT: first, OUTPUT: second}, tmp_path / "model.safetensors")
    whole = audit_path(tmp_path)
    assert (whole.verdict, whole.comparison and whole.comparison.num_compared) == ("conflict", 6)
    assert audit_path(tmp_path, sample=2).verdict == "conflict", "the last block is among two"
    sampled = audit_path(tmp_path, sample=1)
    assert (sampled.verdict, sampled.document()["equal"]) == ("tied_stored_twice", None)
    assert sampled.document()["equal_in_words"] == "equal in 1 of 6 blocks"
    assert "equal in 1 of 6 blocks" in sampled.findings[0].message


@pytest.mark.parametrize(
    ("second", "equal", "said"),
    [(np.zeros((V + 3, D), np.float32), False, "shapes differ"), (np.zeros((V, D), np.float16), None, "F32 and F16")],
)
def test_other_shapes_are_different_and_other_formats_cannot_be_compared(
    second: np.ndarray, equal: bool | None, said: str, tmp_path: Path
) -> None:
    write_config(tmp_path, llama(True))
    save_file({INPUT: np.zeros((V, D), np.float32), OUTPUT: second}, tmp_path / "model.safetensors")
    audit = audit_path(tmp_path)
    assert (audit.verdict, audit.document()["equal"]) == ("conflict", equal)
    assert said in audit.findings[0].message


@pytest.mark.parametrize(("flag", "stored"), [(True, "input"), (True, "unequal"), (True, "equal"), (False, "input")])
def test_shards_are_one_checkpoint(flag: bool, stored: Stored, tmp_path: Path) -> None:
    audit = audit_path(plant_shards(tmp_path, stored, flag))
    assert audit.verdict == TABLE[flag, stored]
    assert audit.pair.input and audit.pair.input.file.startswith("model-0000")


def test_an_adapter_is_told_from_a_model(tmp_path: Path) -> None:
    config = {"base_model_name_or_path": "org/base", "modules_to_save": ["lm_head"]}
    (tmp_path / "adapter_config.json").write_text(str(config).replace("'", '"'))
    save_file({"base_model.model.lm_head.weight": np.zeros((V, D), np.float32)}, tmp_path / "adapter_model.safetensors")
    audit = audit_path(tmp_path)
    assert (audit.verdict, kinds(audit)) == ("unknown", ["adapter"])
    assert "changes the output embedding alone" in audit.findings[0].message
    lora = {"base_model.model.model.layers.0.q_proj.lora_A.weight": np.zeros((2, D), np.float32)}
    save_file(lora, tmp_path / "adapter_model.safetensors")
    assert "changes neither embedding" in audit_path(tmp_path).notes[0]
    pair = {f"base_model.model.{name}": tensor for name, tensor in tensors("equal").items()}
    save_file(pair, tmp_path / "adapter_model.safetensors")
    assert not audit_path(tmp_path).findings and "still one" in audit_path(tmp_path).notes[0]
    pair = {f"base_model.model.{name}": tensor for name, tensor in tensors("unequal").items()}
    save_file(pair, tmp_path / "adapter_model.safetensors")
    assert "no longer one" in audit_path(tmp_path).findings[0].message


def test_weights_without_a_config_are_not_guessed(tmp_path: Path) -> None:
    save_file(tensors("equal"), tmp_path / "model.safetensors")
    audit = audit_path(tmp_path / "model.safetensors")
    assert (audit.verdict, kinds(audit)) == ("unknown", ["no_config"])
    assert "(equal)" in audit.findings[0].message
