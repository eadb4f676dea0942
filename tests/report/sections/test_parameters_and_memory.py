"""The section on where the parameters are and on the memory forecast."""

from tests.support.finished_runs import TIED_NATS, UNTIED_NATS, example_comparison, runs, summarize
from tiedlm.comparison.comparison import Comparison
from tiedlm.forecast.footprint import Footprint
from tiedlm.report.charts.chart import StackChart
from tiedlm.report.sections.parameters_and_memory import SECTION
from tiedlm.run.result import Memory

MIB = 2**20


def charts_of(comparison: Comparison) -> list[StackChart]:
    return [chart for chart in SECTION.charts(comparison) if isinstance(chart, StackChart)]


def memory(parameters: int, reason: str | None = None) -> Memory:
    """Measured at 9 MiB; forecast with as many gradients as parameters and 3 MiB of activations, all in MiB."""
    categories = {"parameters": parameters * MIB, "gradients": parameters * MIB, "activations": 3 * MIB}
    footprint = Footprint(
        device="cuda",
        precision="bf16",
        micro_batch_size=16,
        peak_bytes=None if reason else sum(categories.values()),
        categories={} if reason else categories,
        vocabulary=None if reason else {"parameters": parameters * MIB},
        persistent_bytes=None if reason else 4 * parameters * MIB,
        reason=reason,
    )
    return Memory(
        gpu_peak_allocated_bytes=9 * MIB,
        gpu_peak_reserved_bytes=None,
        predicted_peak_bytes=footprint.peak_bytes,
        host_peak_rss_bytes=None,
        predicted=footprint,
    )


def forecast(**changes: int) -> Comparison:
    sizes = {"tied": 10, "untied": 14} | changes
    results = [
        *runs("tied", TIED_NATS, memory=memory(sizes["tied"])),
        *runs("untied", UNTIED_NATS, memory=memory(sizes["untied"])),
    ]
    return summarize(results, [], "example", "untied", ["tied", "untied"])


def test_the_parts_of_the_parameters_add_up_to_them() -> None:
    comparison = example_comparison()
    (chart,) = charts_of(comparison)
    for stack, variant in zip(chart.stacks, comparison.variants, strict=True):
        assert sum(stack.parts) == variant.parameters.total


def test_the_categories_of_the_forecast_add_up_to_its_peak_with_the_measured_one_marked() -> None:
    _, chart = charts_of(forecast())
    assert chart.parts == ("parameters", "gradients", "activations"), "a category that no model has is left out"
    assert [sum(stack.parts) for stack in chart.stacks] == [23 * MIB, 31 * MIB]
    assert [stack.mark for stack in chart.stacks] == [9 * MIB, 9 * MIB]


def test_the_table_has_the_peak_its_categories_and_what_stays() -> None:
    (table,) = SECTION.tables(forecast())
    assert table.names == ("tied", "untied")
    assert {row.label: row.cells for row in table.rows} == {
        "predicted peak memory": ("23.0 MiB", "31.0 MiB"),
        "parameters": ("10.0 MiB", "14.0 MiB"),
        "gradients": ("10.0 MiB", "14.0 MiB"),
        "activations": ("3.0 MiB", "3.0 MiB"),
        "of the peak, vocabulary": ("10.0 MiB", "14.0 MiB"),
        "for good": ("40.0 MiB", "56.0 MiB"),
    }


def test_the_notes_say_which_step_was_forecast_and_how_much_more_untied_takes() -> None:
    conditions, savings = SECTION.notes(forecast())
    assert conditions.startswith("Predicted, not measured, for cuda, bf16, micro-batches of 16:")
    assert savings.startswith("untied holds 16.0 MiB more for good than tied")
    assert savings.endswith("at the peak it is 8.0 MiB more.")


def test_a_forecast_that_could_not_be_made_says_why_and_is_held_against_nothing() -> None:
    results = [
        *runs("tied", TIED_NATS, memory=memory(10, "no such device")),
        *runs("untied", UNTIED_NATS, memory=memory(14)),
    ]
    comparison = summarize(results, [], "example", "untied", ["tied", "untied"])
    assert list(SECTION.notes(comparison))[1:] == ["tied: no prediction, no such device."]
    (table,) = SECTION.tables(comparison)
    assert table.rows[0].cells == ("–", "31.0 MiB")
    assert [stack.name for stack in charts_of(comparison)[1].stacks] == ["untied"]


def test_without_a_forecast_there_is_only_the_chart_of_the_parameters() -> None:
    comparison = example_comparison()
    assert [chart.key for chart in charts_of(comparison)] == ["parameters"]
    assert [*SECTION.tables(comparison), *SECTION.notes(comparison)] == []


def test_the_baseline_drawn_anew_for_the_noise_floor_has_no_bar() -> None:
    added = {"added": {"role": "noise_floor", "of": "untied"}}
    redrawn = [run.model_copy(update={"config": run.config | added}) for run in runs("untied+redrawn", UNTIED_NATS)]
    results = [*runs("tied", TIED_NATS), *runs("untied", UNTIED_NATS), *redrawn]
    comparison = summarize(results, [], "example", "untied", ["tied", "untied", "untied+redrawn"])
    (chart,) = charts_of(comparison)
    assert [stack.name for stack in chart.stacks] == ["tied", "untied"]
