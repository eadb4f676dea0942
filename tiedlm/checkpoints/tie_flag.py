"""What config.json says of tying, and what each version of transformers makes of it. Free of torch.

transformers 4 asks the config of the text model inside a composite one, transformers 5 the config of the model that
holds the head, which in some families looks into the text config too. An absent flag is the default of the config's
class (class_defaults.py).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tiedlm.checkpoints.class_defaults import composite_in_v4, composite_in_v5, default_in_v4, default_in_v5
from tiedlm.checkpoints.json_text import shown
from tiedlm.checkpoints.refusal import unreadable

KEY = "tie_word_embeddings"
_TEXT_CONFIGS = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
"""Where composite configs keep that of their language model."""
_TIES = (
    *("share_embedding", "share_embeddings", "tie_embeddings", "tied_embeddings", "weight_tying", "tie_weights"),
    *("share_input_output_embed", "share_decoder_input_output_embed", "share_embeddings_and_output_weights"),
    *("tie_lm_head", "tie_embedding_weights", "use_tied_embeddings", "shared_embedding"),
)
_UNTIES = ("untie_embeddings_and_output_weights", "untie_embeddings", "no_tie_embeddings", "untied_embeddings")
"""Keys that other code has for it, in the first list with the meaning of ours, in the second with the opposite."""

Where = Literal["config", "text_config", "both", "nowhere"]


@dataclass(frozen=True)
class TieFlag:
    """`stated`: the flag as written (of a composite config its own, else that of its text model), None where absent.

    `in_v4`, `in_v5`: what the two versions take it to be; None where a version does not know the family. `private` has
    a key with its value as tying, where other code than transformers decides.
    """

    stated: bool | None
    where: Where
    in_v4: bool | None
    in_v5: bool
    model_type: str
    text_key: str | None = None
    private: tuple[str, bool] | None = None

    @property
    def versions_differ(self) -> bool:
        """Whether the two versions take it for different things."""
        return self.in_v4 is not None and self.in_v4 != self.in_v5

    @property
    def is_settled(self) -> bool:
        """Whether all versions find one value, and none only by looking in another config."""
        return self.where != "text_config" and not self.versions_differ

    def in_words(self) -> str:
        """As a table shows it: the value and where it stands; of an absent one, its default."""
        value = word(self.stated)
        if self.where == "nowhere":
            return f"absent ({'differs' if self.versions_differ else word(self.in_v5)})"
        return f"{value} ({self.text_key})" if self.where == "text_config" else value


def read_flag(config: Mapping[str, Any], place: str) -> TieFlag:
    """The flag of a config.json; ConfigError with `place` where it is neither true nor false."""
    model_type = _text(config.get("model_type"))
    text_key = next((key for key in _TEXT_CONFIGS if isinstance(config.get(key), Mapping)), None)
    mine = _flag(config, KEY, place)
    if text_key is None:
        v4 = default_in_v4(model_type) if mine is None else mine
        v5 = default_in_v5(model_type) if mine is None else mine
        return TieFlag(mine, "nowhere" if mine is None else "config", v4, v5, model_type, None, _private(config))
    text = config[text_key]
    inner = _flag(text, KEY, f"{place}, {text_key}")
    text_type = _text(text.get("model_type"))
    of_v4 = default_in_v4(text_type or model_type) if inner is None else inner
    in_v4 = composite_in_v4(model_type, mine, of_v4)
    of_text = default_in_v5(text_type) if inner is None else inner
    in_v5 = composite_in_v5(model_type, mine, of_text)
    where: Where = "both" if None not in (mine, inner) else "config" if inner is None else "text_config"
    if mine is None and inner is None:
        where = "nowhere"
    stated = inner if mine is None else mine
    return TieFlag(stated, where, in_v4, in_v5, model_type, text_key, _private(config) or _private(text))


def _private(config: Mapping[str, Any]) -> tuple[str, bool] | None:
    for keys, ties in ((_TIES, True), (_UNTIES, False)):
        for key in keys:
            if isinstance(config.get(key), bool):
                return key, config[key] is ties
    return None


def _flag(config: Mapping[str, Any], key: str, place: str) -> bool | None:
    value = config.get(key)
    if value is not None and not isinstance(value, bool):
        raise unreadable(place, f"{key} is {shown(value)}: it must be true or false")
    return value


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def word(value: bool | None) -> str:
    """A flag as config.json has it."""
    return {True: "true", False: "false", None: "absent"}[value]
