"""A comparison as one HTML page that needs nothing beside itself: no script, no network, no fonts of its own."""

from collections.abc import Iterator, Sequence
from importlib.resources import files

from tiedlm.comparison.comparison import Comparison
from tiedlm.comparison.contrast import Difference
from tiedlm.comparison.summary import VariantSummary
from tiedlm.comparison.verdict import conditions_in_words
from tiedlm.report.charts.differences import difference_chart
from tiedlm.report.charts.markup import Markup, element, join, lines, void
from tiedlm.report.charts.svg_elements import colour
from tiedlm.report.figures import detail_tables as details
from tiedlm.report.figures import memory_forecast as memory
from tiedlm.report.figures import numbers, remarks
from tiedlm.report.figures.cells import difference_cell, shown_variants
from tiedlm.report.figures.experiment_file import experiment_file, versions
from tiedlm.report.figures.main_table import main_records
from tiedlm.report.figures.variant_sentences import sentences
from tiedlm.report.formats.html_components import FULL, HALF, card, figure, folded, listed, table, titled_table
from tiedlm.report.formats.terminal import PARTS_BESIDE
from tiedlm.report.sections import training_curves
from tiedlm.report.sections.section import Part

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
_NO_CURVE = "No run was validated on its way; training.evaluate_every asks for it."
_LONG = 120
"""A headline with more letters is smaller."""
_VERDICTS = {"no_difference": "no difference", "cannot_tell": "cannot tell"}


def comparison_page(comparison: Comparison) -> str:
    """The whole document."""
    style = files("tiedlm.report.formats").joinpath("report.css").read_text(encoding="utf-8")
    sections = list(_sections(comparison))
    head = element(
        "head",
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{comparison.experiment}: tied or untied"),
        element("style", Markup(style)),
    )
    body = element(
        "body",
        _header(comparison, [title for title, _ in sections]),
        element("main", *(_section(title, content) for title, content in sections)),
        element(
            "footer",
            element("p", "Made by tiedlm from comparison.json. The page needs no network and runs no script."),
        ),
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _section(title: str, content: Markup) -> Markup:
    return element("section", element("h2", title), content, id=_anchor(title))


def _anchor(title: str) -> str:
    return title.lower().replace(" ", "-")


def _sections(comparison: Comparison) -> Iterator[tuple[str, Markup]]:
    """Each with its title, those that have something to show."""
    if comparison.variants:
        yield "Differences", _differences(comparison)
        how = listed(list(remarks.legend(comparison)), "note")
        yield "Figures", join(card(table(main_records(comparison))), *how)
        yield "While training", _training(comparison)
    for part in PARTS_BESIDE:
        content = _beside(part, comparison)
        if content:
            yield part.title, content
    if comparison.variants:
        yield "Parameters and memory", _sizes(comparison)
    yield "What it rests on", card(*listed([*remarks.context(comparison), *_reasons(comparison)]))
    if comparison.variants:
        yield "Every run", _every_run(comparison)
        yield "To repeat it", _repeat(comparison)


def _header(comparison: Comparison, titles: Sequence[str]) -> Markup:
    statements = comparison.statements or [comparison.verdict]
    headline = f"{statements[0].rstrip('.')}."
    conditions = comparison.conditions
    under = f"{conditions_in_words(conditions, not comparison.pending)}." if conditions else ""
    return element(
        "header",
        element("p", f"tiedlm · {comparison.experiment}", class_="kicker"),
        element("h1", headline, class_="long" if len(headline) > _LONG else None),
        element("p", under, class_="conditions"),
        *listed([f"{statement}." for statement in statements[1:]]),
        *(element("p", line, class_="warning") for line in remarks.warnings(comparison)),
        _variants(comparison),
        element("nav", *(element("a", title, href=f"#{_anchor(title)}") for title in titles)),
    )


def _verdict(difference: Difference) -> str:
    return _VERDICTS.get(difference.verdict, difference.verdict)


def _variants(comparison: Comparison) -> Markup:
    """A card for each variant: its score, and one sentence."""
    said = sentences(comparison)
    on_test = {found.variant: found for found in comparison.all_differences if found.split == "test"}
    cards = (
        _variant(variant, place, comparison.baseline, on_test.get(variant.name), said[variant.name])
        for place, variant in enumerate(shown_variants(comparison))
    )
    return element("div", *cards, class_="variants")


def _variant(variant: VariantSummary, place: int, baseline: str, difference: Difference | None, said: str) -> Markup:
    score = variant.splits.get("test")
    mean, _, sd = numbers.spread(
        score.token_perplexity if score else None, score.token_perplexity_sd if score else None, 2
    ).partition(" ± ")
    spread = [element("small", f" ± {sd}")] if sd else []
    tag = (
        [element("span", _verdict(difference), class_=f"verdict {difference.verdict}")]
        if difference and not variant.added
        else [element("span", "baseline", class_="role")]
        if variant.name == baseline
        else []
    )
    under = f"test perplexity; difference {difference_cell(difference)}" if difference else "test perplexity"
    return element(
        "article",
        element("h3", element("span", variant.name), *tag),
        element("p", mean, *spread, class_="big"),
        element("p", under, class_="under"),
        element("p", said),
        class_=f"card {colour(place)}",
    )


def _beside(part: Part, comparison: Comparison) -> Markup:
    """What a part has to show; nothing where it has only notes, on why there is nothing (see `_reasons`)."""
    said, charts = list(part.remarks(comparison)), list(part.charts(comparison))
    tables = [titled_table(records) for records in part.records(comparison)]
    if not (said or charts or tables):
        return Markup()
    under = join(*tables, *listed(list(part.notes(comparison)), "note"))
    folds = bool(charts and under)
    return join(
        *listed(said),
        *(figure(chart, FULL) for chart in charts),
        card(folded("The same as tables, and how to read them", under)) if folds else under,
    )


def _differences(comparison: Comparison) -> Markup:
    chart = difference_chart(comparison)
    if chart is None:
        return card(element("p", "There is no difference to show yet.", class_="note"))
    how = "Dot and bar: mean and 95 % interval. Small dots: one for each seed. Over documents: these checkpoints alone."
    return join(figure(chart, FULL), element("p", how, class_="note"))


def _training(comparison: Comparison) -> Markup:
    charts = list(training_curves.curve_charts(comparison))
    if not charts:
        return card(element("p", _NO_CURVE, class_="note"))
    how = "Lines: means over seeds; bands: from the smallest to the largest of them. Seconds are of training alone."
    return join(
        element("div", *(figure(chart, HALF) for chart in charts[:2]), class_="pair"),
        *(figure(chart, FULL) for chart in charts[2:]),
        element("p", how, class_="note"),
    )


def _sizes(comparison: Comparison) -> Markup:
    charts = [training_curves.parameter_chart(comparison), training_curves.memory_chart(comparison)]
    drawn = [figure(chart, HALF) for chart in charts if chart]
    foreseen = memory.foreseen(comparison)
    tables = [titled_table(memory.memory_records(foreseen))] if foreseen else []
    said = [*memory.conditions(foreseen), *memory.gaps(foreseen)] if foreseen else []
    return join(element("div", *drawn, class_="pair"), *tables, *listed(said, "note"))


def _reasons(comparison: Comparison) -> Iterator[str]:
    yield from remarks.reasons_for_null(comparison)
    yield from remarks.reasons_for_no_interval(comparison)
    yield from remarks.configured_differences(comparison)
    yield from details.machine_remarks(comparison)
    for part in PARTS_BESIDE:
        if not _beside(part, comparison):
            yield from part.notes(comparison)


def _every_run(comparison: Comparison) -> Markup:
    return join(
        titled_table(details.seed_records(comparison)),
        card(folded("More figures of each variant", table(details.more_records(comparison)))),
        card(folded("SHA-256 of what each run started from and read", table(details.hash_records(comparison)))),
    )


def _texts(comparison: Comparison) -> list[Markup]:
    """Which text it was, to be told from another one."""
    found = [run.hashes for variant in comparison.variants for run in variant.runs]
    hashes = {"text": [each.corpus for each in found], "tokens": [each.tokens for each in found]}
    said = {f"SHA-256 of the {what}": " / ".join(dict.fromkeys(values)) for what, values in hashes.items()}
    origin = comparison.corpus.details if comparison.corpus else {}
    said |= {f"text, {key}": str(value) for key, value in origin.items() if value is not None}
    return [element("p", element("code", f"{what}: {value}"), class_="note hash") for what, value in said.items()]


def _repeat(comparison: Comparison) -> Markup:
    written = experiment_file(comparison)
    name = f"{comparison.experiment}.yaml"
    known = ", ".join(f"{package} {version}" for package, version in versions(comparison).items())
    ran = [element("p", f"The runs were made with {known}.")] if known else []
    if written is None:
        why = "An earlier version made this comparison, without the configs: they are in the folders of the runs."
        return card(element("p", why), *ran)
    command = f"tiedlm compare {name}\ntiedlm report runs/{comparison.experiment} --html report.html"
    tuned = [element("p", "Settings that were tuned stand in it as they came out.")] if comparison.tuning else []
    return card(
        element("p", "Save the experiment below as ", element("code", name), ", then:"),
        element("pre", lines(command)),
        *tuned,
        *ran,
        *_texts(comparison),
        folded("The experiment, with every default written out", element("pre", lines(written))),
    )
