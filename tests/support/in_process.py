"""Runs that `compare` and `tune` carry out in this process, for tests whose subject is not the process of a run."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tiedlm.run.layout import Run
from tiedlm.run.process import run_in_child
from tiedlm.talk import SILENT, Talk


@contextmanager
def in_this_process(talk: Talk = SILENT, which: Callable[[Run], bool] = lambda run: True) -> Iterator[None]:
    """Inside the block the runs that `which` picks get no process of their own, which takes a tenth of the time."""

    def run_here(
        run: Run,
        *,
        cache_dir: Path,
        fresh: bool,
        prefix: str,
        siblings: Sequence[Run],
        until: float | None = None,
        **ahead: Any,
    ) -> None:
        if not which(run):
            run_in_child(run, cache_dir=cache_dir, fresh=fresh, prefix=prefix, siblings=siblings, until=until, **ahead)
            return
        from tiedlm.run.execute import execute, execute_to

        if until is None:
            execute(run, cache_dir=cache_dir, fresh=fresh, talk=talk, siblings=siblings)
        else:
            execute_to(run, until, cache_dir=cache_dir, talk=talk, siblings=siblings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tiedlm.experiment.carry_out.run_in_child", run_here)
        yield
