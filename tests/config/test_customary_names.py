"""What other programs call a key is told as what it is here, and in our words where the value says so."""

import pytest

from tiedlm.config.base import ConfigError
from tiedlm.config.customary_names import TABLE, customary
from tiedlm.config.file import apply_settings
from tiedlm.experiment.file_schema import file_keys
from tiedlm.experiment.reading import experiment_from, load_experiment

OURS = {key.path for key in file_keys()}


def said_of(setting: str) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_experiment("soft", [setting])
    return [str(problem) for problem in caught.value.problems]


@pytest.mark.parametrize("known", [known for known, _ in TABLE], ids=lambda known: known.key)
def test_what_is_advised_is_there(known: object) -> None:
    key = getattr(known, "key", "")
    assert key in OURS or key == "--runs-dir"


def test_no_name_stands_twice() -> None:
    names = [name for _, names in TABLE for name in names.split()]
    assert len(names) == len({*names})


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("lr", "training.learning_rate"),
        ("training.lr", "training.learning_rate"),
        ("grad_clip", "training.max_grad_norm"),
        ("block_size", "data.seq_len"),
        ("context_length", "data.seq_len"),
        ("model.n_embd", "model.dim"),
        ("model.d_model", "model.dim"),
        ("model.hidden_size", "model.dim"),
        ("model.n_layer", "model.num_layers"),
        ("model.n_head", "model.num_heads"),
        ("batch_size", "training.batch_size"),
        ("data.batch_size", "training.batch_size"),
        ("weight_decay", "training.weight_decay"),
        ("vocab_size", "data.tokenizer.vocab_size"),
        ("data.tokenizer.file", "data.tokenizer.path"),
        ("max_steps", "training.steps"),
        ("num_train_epochs", "training.epochs"),
        ("training.gradient_accumulation_steps", "training.micro_batch_size"),
        ("training.warmup_steps", "training.warmup"),
        ("training.max_iters", "training.steps"),
        ("output_dir", "--runs-dir"),
        ("adam_betas", "training.betas"),
        ("arch", "model.type"),
        ("embed_scale", "model.tying.input_scale"),
        ("norm_class_name", "model.norm"),
        ("normalization", "model.norm"),
        ("position_embedding_type", "model.positions"),
        ("eval_strategy", "training.evaluate_every"),
        ("per_device_eval_batch_size", "evaluation.batch_size"),
        ("data.path", "data.corpus.file"),
        ("rms_norm_eps", "model.norm_eps"),
        ("share_decoder_input_output_embed", "model.tying"),
        ("per-device-train-batch-size", "training.micro_batch_size"),
    ],
)
def test_a_customary_name_is_told_as_ours(name: str, key: str) -> None:
    (said,) = said_of(f"{name}=4")
    assert said.startswith(f"{name}: unknown key; did you mean {key}")


@pytest.mark.parametrize(
    ("setting", "written"),
    [
        ("tie_word_embeddings=true", "model.tying: {type: tied}"),
        ("model.tie_word_embeddings=false", "model.tying: {type: untied}"),
        ("dtype=bfloat16", "training.precision: bf16"),
        ("training.torch_dtype=torch.float16", "training.precision: fp16"),
        ("fp16=true", "training.precision: fp16"),
        ("bf16=true", "training.precision: bf16"),
        ("bf16=false", "training.precision: fp32"),
        ("wandb_log=true", "training.loggers: [wandb]"),
        ("decay_lr=false", "training.schedule: constant"),
    ],
)
def test_a_value_is_put_into_our_words_and_these_are_accepted(setting: str, written: str) -> None:
    (said,) = said_of(setting)
    assert said == f"{setting.partition('=')[0]}: unknown key; write {written}"
    key, _, value = written.partition(": ")
    without = [] if key != "training.schedule" else ["training.min_learning_rate=0"]
    load_experiment("tied", [f"{key}={value}", *without])


def test_a_name_in_a_file_is_told_where_it_stands() -> None:
    raw = apply_settings({}, ["training.lr=1", "variants.a.model.n_embd=3"])
    base = {"name": "x", "data": {"corpus": {"type": "python-docs"}, "tokenizer": {"type": "byte"}, "seq_len": 8}}
    with pytest.raises(ConfigError) as caught:
        experiment_from({**base, **raw, "model": {"num_layers": 1, "dim": 8, "num_heads": 1}})
    said = {problem.key: problem.message for problem in caught.value.problems}
    assert said["training.lr"] == "unknown key; did you mean training.learning_rate?"
    assert said["variants.a.model.n_embd"] == "unknown key; did you mean model.dim?"


def test_what_nobody_calls_a_key_is_no_customary_name() -> None:
    assert customary("training.foo") is None


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ("seeds=3", "seeds: 3: must be a list, as [3]"),
        ("training.loggers=wandb", 'training.loggers: "wandb": must be a list, as [wandb]'),
        ("training.betas=0.9", "training.betas: 0.9: must be a list"),
        ("training.loggers=true", "training.loggers: true: must be a list"),
    ],
)
def test_one_value_where_a_list_of_any_length_belongs_is_shown_as_one(setting: str, said: str) -> None:
    assert said_of(setting) == [said]
