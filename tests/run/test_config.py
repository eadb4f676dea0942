"""The config of a run: what follows from its keys."""

from pathlib import Path

import pytest

from tests.support.small_runs import small_run
from tiedlm.evaluation.config import Windows


@pytest.mark.parametrize(
    ("settings", "seq_len", "stride", "expected"),
    [
        ([], None, None, Windows(16, 16)),
        (["evaluation.seq_len=8"], None, None, Windows(8, 8)),
        (["evaluation.stride=4"], None, None, Windows(16, 4)),
        (["evaluation.seq_len=8", "evaluation.stride=4"], None, None, Windows(8, 4)),
        (["evaluation.stride=12"], 8, None, Windows(8, 8)),  # no token may be left out
        (["evaluation.seq_len=8", "evaluation.stride=4"], 12, None, Windows(12, 4)),
        (["evaluation.seq_len=8", "evaluation.stride=4"], 12, 6, Windows(12, 6)),
        ([], None, 20, Windows(16, 20)),  # for the caller to refuse
    ],
)
def test_a_split_is_scored_in_windows_as_in_training_unless_the_config_or_the_caller_says_otherwise(
    tmp_path: Path, settings: list[str], seq_len: int | None, stride: int | None, expected: Windows
) -> None:
    config = small_run(tmp_path, *settings).config
    assert config.windows(seq_len, stride) == expected
