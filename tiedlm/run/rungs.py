"""rungs.json: the scores of a run at its rungs, in its folder. Free of torch."""

from tiedlm.files import write_atomic
from tiedlm.run.config import RunConfig
from tiedlm.run.folder import RunFolder, parse_record, to_json
from tiedlm.run.rung import RungRecord, RungScore


def read_rungs(folder: RunFolder) -> RungRecord | None:
    """The scores of a run that pauses on the way, if it has reached its first rung; raises RunError("corrupt")."""
    file = folder.rungs_file
    return parse_record(file.read_bytes(), file, RungRecord) if file.is_file() else None


def reach_rung(folder: RunFolder, config: RunConfig, score: RungScore) -> None:
    """Write down the score of a rung; raises RunError("disk")."""
    record = read_rungs(folder) or RungRecord(variant=config.variant, seed=config.seed, scores=[])
    _write(folder, record.with_score(score))
    folder.failure_file.unlink(missing_ok=True)  # of an earlier try


def prune(folder: RunFolder) -> None:
    """Write down that a run does not go on from the last rung it reached, and remove its weights.

    Raises RunError("disk").
    """
    record = read_rungs(folder)
    assert record is not None
    if record.pruned_at_step is None:
        _write(folder, record.model_copy(update={"pruned_at_step": record.scores[-1].step}))
    folder.drop_checkpoints()


def _write(folder: RunFolder, record: RungRecord) -> None:
    write_atomic(folder.rungs_file, to_json(record.model_dump(mode="json")))
