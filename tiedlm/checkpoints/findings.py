"""What is wrong with a checkpoint, a sentence each, and the way out. Free of torch."""

from collections.abc import Iterator
from dataclasses import dataclass

from tiedlm.checkpoints.compare_bytes import Comparison
from tiedlm.checkpoints.matrix_names import StoredPair
from tiedlm.checkpoints.tie_flag import KEY, TieFlag
from tiedlm.checkpoints.verdict import Verdict, judge


@dataclass(frozen=True)
class Finding:
    """`kind` is a short word, most often a verdict."""

    kind: str
    message: str
    way_out: str = ""


def of_bytes(flag: bool, pair: StoredPair, comparison: Comparison | None) -> Iterator[Finding]:
    """What a flag and the stored matrices come to; nothing where they agree."""
    verdict = judge(flag, pair, comparison)
    equal = comparison.in_words() if comparison else ""
    as_far = "" if comparison is None or comparison.equal is not None else f" ({equal})"
    match verdict:
        case "tied_stored_twice":
            assert pair.output is not None
            size = f"{pair.output.num_bytes:,} bytes"
            yield Finding(
                verdict,
                f"The flag is true and both matrices are stored with equal values{as_far}: {size} for nothing.",
                f"Save it again with transformers 5, or remove {pair.output.name}.",
            )
        case "conflict":
            yield Finding(verdict, _conflict(pair, comparison), _out_of_conflict(pair))
        case "untied_equal":
            yield Finding(
                verdict,
                f"The flag is false and both matrices are stored with equal values{as_far}: copied, or never trained "
                "apart. Further training will part them.",
                f"If they are to be one, set {KEY} to true and save it again; if not, nothing.",
            )
        case "head_missing":
            yield _one_missing(pair)
        case "unknown":
            yield Finding("no_matrices", "Neither an input nor an output embedding is stored under a known name.")


def _conflict(pair: StoredPair, comparison: Comparison | None) -> str:
    assert pair.input is not None and pair.output is not None and comparison is not None
    if comparison.equal is None:
        return (
            f"The flag is true and both matrices are stored, in {pair.input.dtype} and {pair.output.dtype}: whether "
            "they are equal cannot be told from their bytes, and loaders differ in which they take."
        )
    how = f": {comparison.reason}" if comparison.reason else ""
    return f"The flag is true and both matrices are stored with different values{how}. Loaders differ in what they use."


def _out_of_conflict(pair: StoredPair) -> str:
    name = pair.output.name if pair.output else ""
    return f"If the head was trained, set {KEY} to false; if it is a leftover, remove {name}."


def _one_missing(pair: StoredPair) -> Finding:
    there = pair.input or pair.output
    assert there is not None
    missing = "an output embedding" if pair.input else "an input embedding"
    return Finding(
        "head_missing",
        f"The flag is false and only {there.name} is stored, without {missing}: some loaders draw it at random, some "
        "tie.",
        f"If it was trained tied, set {KEY} to true; if not, the matrix was lost in saving: save it again.",
    )


def of_flag(flag: TieFlag, pair: StoredPair, comparison: Comparison | None) -> Iterator[Finding]:
    """What is wrong with how the flag is given: absent, in one of two configs, or under another name."""
    if flag.private is not None and flag.private[1] is not flag.stated:
        key = flag.private[0]
        more = "; tie_word_embeddings is absent" if flag.stated is None else f", while {KEY} is {_word(flag.stated)}"
        yield Finding(
            "private_key",
            f"{key} says that it is {'tied' if flag.private[1] else 'not tied'}{more}: code outside of transformers "
            "decides.",
            f"Write {KEY}: {_word(flag.private[1])} into config.json too.",
        )
    if flag.where == "text_config" or (flag.text_key and flag.versions_differ):
        yield Finding("composite", _composite(flag), f"Write the same {KEY} at the top and in {flag.text_key}.")
    elif flag.where == "nowhere" and flag.versions_differ:
        yield Finding(
            "class_default",
            f"The flag is absent: transformers 4 takes {_word(flag.in_v4)}, transformers 5 {_word(flag.in_v5)}.",
            f"Write {KEY}: {_word(_fitting(flag, pair, comparison))} into config.json.",
        )


def _composite(flag: TieFlag) -> str:
    v4 = "does not know the family" if flag.in_v4 is None else f"takes {_word(flag.in_v4)} from {flag.text_key}"
    where = {
        "text_config": f"stands only in {flag.text_key} ({_word(flag.stated)})",
        "config": f"stands only at the top ({_word(flag.stated)})",
        "both": f"differs between the top ({_word(flag.stated)}) and {flag.text_key}",
        "nowhere": "is absent",
    }[flag.where]
    v5 = f"{_word(flag.in_v5)} from the {'class default' if flag.where in ('text_config', 'nowhere') else 'top'}"
    return f"The flag {where}: transformers 4 {v4}, transformers 5 takes {v5}."


def _fitting(flag: TieFlag, pair: StoredPair, comparison: Comparison | None) -> bool:
    """The flag that goes with what is stored."""
    if pair.input is not None and pair.output is not None and comparison is not None:
        return comparison.may_be_equal
    return True


def _word(value: bool | None) -> str:
    return {True: "true", False: "false", None: "absent"}[value]


def verdict_of(flag: TieFlag, pair: StoredPair, comparison: Comparison | None) -> Verdict:
    """The verdict of a checkpoint with a config.json."""
    if flag.stated is None and flag.private is not None:
        return "unknown"
    if pair.input is None and pair.output is None:
        return "unknown"
    if flag.where == "text_config" or (flag.text_key and flag.where != "nowhere" and flag.versions_differ):
        return "composite"
    if flag.where == "nowhere":
        return "class_default"
    return judge(flag.in_v5, pair, comparison)
