"""What is wrong with a checkpoint, a sentence each, and the way out. Free of torch."""

from collections.abc import Iterator
from dataclasses import dataclass

from tiedlm.checkpoints.compare_bytes import Comparison
from tiedlm.checkpoints.matrix_names import StoredPair
from tiedlm.checkpoints.tie_flag import KEY, TieFlag, word
from tiedlm.checkpoints.verdict import Verdict, judge


@dataclass(frozen=True)
class Finding:
    """`kind` is a short word, most often a verdict."""

    kind: str
    message: str
    way_out: str = ""


def of_bytes(
    value: bool, pair: StoredPair, comparison: Comparison | None, flag: TieFlag | None = None
) -> Iterator[Finding]:
    """What a flag of this value and the stored matrices come to; nothing where they agree.

    `flag` is where the value is from; where it is not the same for all versions, there is no way out but to settle it.
    """
    is_settled = flag is None or flag.is_settled
    is_stated = flag is None or (is_settled and flag.stated is not None)
    verdict = judge(value, pair, comparison)
    told = _told(verdict, pair, comparison)
    if told is not None:
        what, way_out = told
        begin = f"The flag is {word(value)} and" if is_stated else f"Where it is taken for {word(value)},"
        kind = {"unknown": "no_matrices", "tied": "input_missing"}.get(verdict, verdict)
        yield Finding(kind, what if verdict == "unknown" else f"{begin} {what}", way_out if is_settled else "")


def _told(verdict: Verdict, pair: StoredPair, comparison: Comparison | None) -> tuple[str, str] | None:
    """What a verdict means, and the way out; None of one that is well."""
    match verdict:
        case "tied_stored_twice":
            assert pair.output is not None and comparison is not None
            size = f"{pair.output.num_bytes:,} bytes"
            return (
                f"both matrices are stored with equal values{_as_far(comparison)}: {size} for nothing.",
                f"Save it again with transformers 5, or remove {pair.output.name}.",
            )
        case "conflict":
            assert pair.output is not None and comparison is not None
            return (
                _conflict(pair, comparison),
                f"If the head was trained, set {KEY} to false; if it is a leftover, remove {pair.output.name}.",
            )
        case "untied_equal":
            assert comparison is not None
            return (
                f"both matrices are stored with equal values{_as_far(comparison)}: copied, or never trained apart. "
                "Further training will part them.",
                f"If they are to be one, set {KEY} to true and save it again; if not, nothing.",
            )
        case "head_missing":
            there = pair.input or pair.output
            assert there is not None
            missing = "an output embedding" if pair.input else "an input embedding"
            return (
                f"only {there.name} is stored, without {missing}: some loaders draw it at random, some tie.",
                f"If it was trained tied, set {KEY} to true; if not, the matrix was lost in saving: save it again.",
            )
        case "tied" if pair.input is None and pair.output is not None:
            return (
                f"only {pair.output.name} is stored: transformers 5 ties the two to it, 4 leaves both without values.",
                "Save it again with transformers 5, which stores it under the name of the input embedding.",
            )
        case "unknown":
            return "Neither an input nor an output embedding is stored under a known name.", ""
    return None


def _as_far(comparison: Comparison) -> str:
    return "" if comparison.equal is not None else f" ({comparison.in_words()})"


def _conflict(pair: StoredPair, comparison: Comparison) -> str:
    assert pair.input is not None and pair.output is not None
    if comparison.equal is None:
        return (
            f"both matrices are stored, in {pair.input.dtype} and {pair.output.dtype}: whether they are equal cannot "
            "be told from their bytes, and loaders differ in which they take."
        )
    how = f" ({comparison.reason})" if comparison.reason else ""
    return f"both matrices are stored with different values{how}. Loaders differ in what they use."


def of_flag(flag: TieFlag, pair: StoredPair, comparison: Comparison | None) -> Iterator[Finding]:
    """What is wrong with how the flag is given: absent, in one of two configs, or under another name."""
    if flag.private is not None and flag.private[1] is not flag.stated:
        key = flag.private[0]
        more = "; tie_word_embeddings is absent" if flag.stated is None else f", while {KEY} is {word(flag.stated)}"
        yield Finding(
            "private_key",
            f"{key} says that it is {'tied' if flag.private[1] else 'not tied'}{more}: code outside of transformers "
            "decides.",
            f"Write {KEY}: {word(flag.private[1])} into config.json too.",
        )
    if flag.where == "text_config" or (flag.text_key and flag.versions_differ):
        yield Finding("composite", _composite(flag), f"Write the same {KEY} at the top and in {flag.text_key}.")
    elif flag.where == "nowhere" and flag.versions_differ:
        yield Finding(
            "class_default",
            f"The flag is absent: transformers 4 takes {word(flag.in_v4)}, transformers 5 {word(flag.in_v5)}.",
            f"Write {KEY}: {word(_fitting(flag, pair, comparison))} into config.json.",
        )


def _composite(flag: TieFlag) -> str:
    v4 = "does not know the family" if flag.in_v4 is None else f"takes {word(flag.in_v4)} from {flag.text_key}"
    where = {
        "text_config": f"stands only in {flag.text_key} ({word(flag.stated)})",
        "config": f"stands only at the top ({word(flag.stated)})",
        "both": f"differs between the top ({word(flag.stated)}) and {flag.text_key}",
        "nowhere": "is absent",
    }[flag.where]
    source = "the class default" if flag.where in ("text_config", "nowhere") else "the top"
    if flag.in_v5 and flag.where != "nowhere" and not (flag.where != "text_config" and flag.stated):
        source = f"{flag.text_key} or the class default" if flag.where == "text_config" else flag.text_key or source
    v5 = f"{word(flag.in_v5)} from {source}"
    return f"The flag {where}: transformers 4 {v4}, transformers 5 takes {v5}."


def _fitting(flag: TieFlag, pair: StoredPair, comparison: Comparison | None) -> bool:
    """The flag that goes with a key of another name, else with what is stored."""
    if flag.private is not None:
        return flag.private[1]
    if pair.input is not None and pair.output is not None and comparison is not None:
        return comparison.may_be_equal
    return True


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
