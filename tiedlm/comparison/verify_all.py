"""Recompute what several folders report, each a run's, an experiment's or that of one with parts. Free of torch."""

from collections.abc import Sequence
from pathlib import Path

from tiedlm.comparison.parts.stored import holds_parts
from tiedlm.comparison.parts.verify import verify_parts
from tiedlm.comparison.verify import Verified, verify
from tiedlm.run.folder import RunFolder


def verify_all(folders: Sequence[Path]) -> Verified:
    """Check several folders as one; files are named with their folder then. Raises as `verify` does."""
    each = [verify_folder(folder) for folder in folders]
    if len(each) == 1:
        return each[0]
    return Verified(
        folder=", ".join(one.folder for one in each),
        num_runs=sum(one.num_runs for one in each),
        num_numbers=sum(one.num_numbers for one in each),
        num_words=sum(one.num_words for one in each),
        failed=[
            fault.model_copy(update={"file": f"{one.folder}/{fault.file}"}) for one in each for fault in one.failed
        ],
        not_checked=list(dict.fromkeys(words for one in each for words in one.not_checked)),
    )


def verify_folder(folder: Path) -> Verified:
    """Check one folder of any kind."""
    is_run = RunFolder(folder).config_file.is_file()
    return verify_parts(folder) if not is_run and holds_parts(folder) else verify(folder)
