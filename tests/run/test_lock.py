"""A lock on a run's folder that leaves nothing of a run that came to nothing."""

from pathlib import Path

import pytest

from tests.support.small_runs import carry_out, small_run
from tiedlm.config.base import ConfigError


@pytest.mark.parametrize("setting", ["model.vocab_size=300", "training.device=cuda:77"])
def test_a_request_that_is_refused_leaves_no_folder_behind(tmp_path: Path, setting: str) -> None:
    with pytest.raises(ConfigError):
        carry_out(small_run(tmp_path, setting))
    assert not (tmp_path / "runs").exists()
    (tmp_path / "runs").mkdir()
    with pytest.raises(ConfigError):
        carry_out(small_run(tmp_path, setting))
    assert list((tmp_path / "runs").iterdir()) == [], "what was there stays"
