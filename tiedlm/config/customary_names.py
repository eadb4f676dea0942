"""What other programs call the keys of a config (nanoGPT, litgpt, transformers, fairseq), and what they are here."""

from collections.abc import Callable
from dataclasses import dataclass


def _same(value: object) -> str | None:
    return None


@dataclass(frozen=True)
class Customary:
    """A key of ours under another name: `how` its value is meant here, `translated` a value in our words."""

    key: str
    how: str = ""
    translated: Callable[[object], str | None] = _same

    def advice(self, value: object) -> str:
        """What to write in place of a key with `value`."""
        translation = self.translated(value)
        if translation is not None:
            return f"write {translation}"
        return f"did you mean {self.key}{f' ({self.how})' if self.how else ''}?"


def customary(path: str) -> Customary | None:
    """What an unknown dotted key is called here, by its last name, or its last two where that alone may mean more."""
    *above, name = path.lower().replace("-", "_").split(".")
    two = ".".join([*above[-1:], name])
    return _NAMES.get(two) or _NAMES.get(name)


def _precision(value: object) -> str | None:
    names = {"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32", "no": "fp32"}
    written = str(value).removeprefix("torch.")
    known = names.get(written, written if written in ("auto", *names.values()) else None)
    return f"training.precision: {known}" if known else None


def _if_true(yes: str, no: str) -> Callable[[object], str | None]:
    return lambda value: {True: yes, False: no}.get(value) if isinstance(value, bool) else None


_BF16, _FP32, _AUTO = (f"training.precision: {name}" for name in ("bf16", "fp32", "auto"))
_TIED, _UNTIED = (f"model.tying: {{type: {name}}}" for name in ("tied", "untied"))
_COSINE, _CONSTANT = (f"training.schedule: {name}" for name in ("cosine", "constant"))
_FORMATS = "auto, fp32, bf16 or fp16"
_STEPS = "optimizer steps"
_WINDOWS = "windows in one optimizer step, all that are accumulated together"
_PARTS = "windows computed at once; training.batch_size is of the whole step"
_WARMUP = "steps where a whole number, else a fraction of the run"

_KEYS = {
    "data.corpus": "dataset corpus",
    "data.corpus.file": "train_file data_path text_file data.path data.files",
    "data.seq_len": "seq_len block_size context_length context_len context_size ctx_len n_ctx seq_length"
    " sequence_length max_seq_length max_length tokens_per_sample bptt",
    "data.tokenizer": "tokenizer",
    "data.tokenizer.path": "tokenizer.file tokenizer.name tokenizer_file tokenizer_path tokenizer_name",
    "data.tokenizer.vocab_size": "vocab_size padded_vocab_size n_vocab num_embeddings vocabulary_size",
    "evaluation.batch_size": "per_device_eval_batch_size eval_batch_size",
    "evaluation.stride": "stride",
    "model.activation": "hidden_act activation_function act_fn activation_fn act",
    "model.bias": "bias",
    "model.dim": "dim hidden_size n_embd d_model embed_dim embedding_dim emb_dim model_dim decoder_embed_dim emsize"
    " hidden_dim width",
    "model.dropout": "dropout attention_dropout attn_pdrop resid_pdrop embd_pdrop hidden_dropout_prob dropout_rate",
    "model.feed_forward_dim": "intermediate_size n_inner d_ff ffn_dim mlp_dim ffn_hidden_size decoder_ffn_embed_dim",
    "model.head_dim": "head_size d_head d_kv",
    "model.hidden_dim": "nhid",
    "model.init_std": "initializer_range",
    "model.logit_softcap": "final_logit_softcapping final_logit_softcap",
    "model.max_seq_len": "max_position_embeddings n_positions",
    "model.norm": "norm_class_name norm_class norm_type normalization",
    "model.norm_eps": "rms_norm_eps layer_norm_eps layer_norm_epsilon layernorm_eps",
    "model.num_heads": "n_head n_heads num_attention_heads nhead nheads decoder_attention_heads heads",
    "model.num_kv_heads": "n_kv_head n_kv_heads num_key_value_heads n_query_groups",
    "model.num_layers": "n_layer n_layers num_hidden_layers nlayers decoder_layers layers depth",
    "model.positions": "position_embedding_type position_embedding positional_encoding pos_embedding pos_emb",
    "model.qkv_bias": "attention_bias",
    "model.rope_theta": "rope_base",
    "model.tying.input_scale": "embed_scale embedding_scale embedding_multiplier",
    "model.type": "arch architecture model_type",
    "name": "run_name experiment_name experiment",
    "seed": "random_seed",
    "training.checkpoint_every": "save_steps save_interval checkpoint_interval",
    "training.compile": "torch_compile compile",
    "training.device": "device",
    "training.epochs": "num_train_epochs num_epochs n_epochs max_epoch max_epochs epoch",
    "training.eps": "adam_epsilon adam_eps epsilon",
    "training.evaluate_every": "eval_interval eval_steps eval_every val_check_interval eval_strategy"
    " evaluation_strategy",
    "training.keep_last": "save_total_limit",
    "training.learning_rate": "lr learning_rate max_lr peak_lr",
    "training.loggers": "report_to logger",
    "training.max_grad_norm": "grad_clip clip_norm gradient_clip_val gradient_clipping clip_grad clip_grad_norm clip"
    " max_norm",
    "training.min_learning_rate": "min_lr",
    "training.optimizer": "optim optimizer opt",
    "training.schedule": "lr_scheduler_type lr_scheduler lr_schedule scheduler schedule",
    "training.tokens": "max_tokens train_tokens num_tokens total_tokens",
    "training.weight_decay": "weight_decay wd",
}
"""Our keys, each with other names of the same thing, or its own where it may stand in the wrong part of the file."""

TABLE = [
    *((Customary(key), names) for key, names in _KEYS.items()),
    (Customary("training.steps", _STEPS), "max_steps max_iters max_update num_steps n_steps iterations"),
    (Customary("training.batch_size", _WINDOWS), "batch_size global_batch_size train_batch_size bs"),
    (
        Customary("training.micro_batch_size", _PARTS),
        "gradient_accumulation_steps grad_accum_steps accumulate_grad_batches update_freq device_batch_size"
        " per_device_train_batch_size micro_batch_size",
    ),
    (
        Customary("training.warmup", _WARMUP),
        "warmup_steps warmup_iters warmup_updates lr_warmup_steps num_warmup_steps warmup_ratio warmup",
    ),
    (Customary("training.betas", "a list of both, as [0.9, 0.95]"), "beta1 beta2 adam_beta1 adam_beta2 adam_betas"),
    (Customary("training.precision", _FORMATS, _precision), "dtype torch_dtype mixed_precision precision"),
    (Customary("training.precision", "bf16", _if_true(_BF16, _FP32)), "bf16"),
    (Customary("training.precision", "fp16", _if_true("training.precision: fp16", _FP32)), "fp16"),
    (Customary("training.precision", "fp32", _if_true(_FP32, _AUTO)), "fp32"),
    (Customary("training.precision", _FORMATS, _if_true(_AUTO, _FP32)), "amp"),
    (Customary("--runs-dir", "an option; `name` is the folder below it"), "output_dir out_dir save_dir"),
    (
        Customary("model.tying", "{type: tied} or {type: untied}", _if_true(_TIED, _UNTIED)),
        "tie_word_embeddings tie_embeddings tie_weights tied_embeddings share_decoder_input_output_embed tied tie"
        " share_embeddings weight_tying tying",
    ),
    (
        Customary("training.loggers", "[wandb]", _if_true("training.loggers: [wandb]", "training.loggers: []")),
        "wandb_log",
    ),
    (Customary("training.schedule", "constant for none", _if_true(_COSINE, _CONSTANT)), "decay_lr"),
    (Customary("training.schedule", "it ends where the run ends"), "lr_decay_iters"),
]
_NAMES = {name: known for known, names in TABLE for name in names.split()}
