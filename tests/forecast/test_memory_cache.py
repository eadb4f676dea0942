"""Forecasts are kept by what determines them, and made for machines that are not here."""

from pathlib import Path

from tests.support.small_runs import small_experiment
from tiedlm.experiment.count_params import count_configs
from tiedlm.forecast.memory_cache import target_of
from tiedlm.run.forecast import forecast_memory
from tiedlm.run.result import Memory


def test_the_very_same_step_is_worked_out_once_whatever_the_seed(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    for seed in (0, 1):
        config = experiment.run_config("tied", seed)
        found = forecast_memory(config, target_of(config.training), 257, tmp_path / "cache")
        assert found.peak_bytes is not None
    assert len(list((tmp_path / "cache" / "predicted-memory").iterdir())) == 1
    other = experiment.run_config("untied", 0)
    forecast_memory(other, target_of(other.training), 257, tmp_path / "cache")
    assert len(list((tmp_path / "cache" / "predicted-memory").iterdir())) == 2


def test_a_model_alone_is_counted_with_its_memory_on_a_gpu_that_need_not_be_here(tmp_path: Path) -> None:
    tied, untied = count_configs(["shapes/gpt2"], [], tmp_path, memory=True, device="cuda")
    assert tied.footprint is not None and untied.footprint is not None
    assert tied.footprint.device == "cuda"
    one, other = tied.footprint.persistent_bytes, untied.footprint.persistent_bytes
    assert one is not None and other is not None
    assert other - one == 16 * (untied.counts.total - tied.counts.total)
    assert tied.document()["memory"]["predicted_peak_bytes"] == tied.footprint.peak_bytes


def test_a_result_stored_without_a_prediction_still_loads() -> None:
    before = Memory.model_validate(
        {
            "gpu_peak_allocated_bytes": None,
            "gpu_peak_reserved_bytes": None,
            "predicted_peak_bytes": None,
            "host_peak_rss_bytes": 1,
        }
    )
    assert before.predicted is None
