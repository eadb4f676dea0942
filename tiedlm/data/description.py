"""Prepared text in figures, as `tiedlm prepare` shows them."""

from typing import Any

from tiedlm.data.config import SPLITS
from tiedlm.data.prepare import PreparedData


def describe(data: PreparedData) -> dict[str, Any]:
    """One JSON document: where the text came from, its tokenizer, and the counts of each split."""
    splits = {
        name: {
            "tokens": split.num_tokens,
            "words": split.words,
            "rows": split.rows,
            "bytes": split.bytes,
            "documents": split.documents,
        }
        for name in SPLITS
        for split in (data.split(name),)
    }
    return {
        "corpus": data.corpus.caption,
        "corpus_sha256": data.corpus.sha256,
        "details": dict(data.corpus.details),
        "tokenizer": data.tokenizer_label,
        "vocab_size": data.vocab_size,
        "tokens_sha256": data.tokens_sha256,
        "splits": splits,
        "overlap": {name: found.model_dump() for name, found in (data.overlap or {}).items()} or None,
        "notes": list(data.notes),
    }
