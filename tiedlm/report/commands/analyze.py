"""What `tiedlm analyze` prints: the figures of one model, of two, or of an experiment's variants over their seeds."""

from rich.console import Console

from tiedlm.embeddings.schema import EmbeddingAnalysis
from tiedlm.report.figures.embedding_seed_tables import difference_tables, nearer_tables, seed_tables
from tiedlm.report.figures.embedding_tables import (
    bin_tables,
    legend,
    matrix_table,
    nearest_tables,
    pair_table,
)
from tiedlm.report.formats.terminal_writer import TerminalWriter

_HOW_TO_READ = (
    "By chance: the value for matrices that have nothing to do with each other, or for independent normal entries. "
    "Cosines are of tokens that no map was fitted on."
)


def render_analysis(analysis: EmbeddingAnalysis, console: Console) -> None:
    """Print an analysis of embeddings."""
    writer = TerminalWriter(console)
    if analysis.baseline is not None:
        writer.tables(seed_tables(analysis))
        writer.tables(difference_tables(analysis))
        writer.tables(nearer_tables(analysis))
        writer.blank_line()
        writer.paragraph(
            "Difference [95 % interval over seeds], interval and verdict Holm-corrected for all figures of a variant. "
            "Higher is neither better nor worse."
        )
    else:
        writer.paragraphs(legend(analysis), "bold")
        pairs = pair_table(analysis)
        writer.tables([matrix_table(analysis), *([] if pairs is None else [pairs])])
        writer.tables(bin_tables(analysis))
        writer.tables(nearest_tables(analysis))
    writer.blank_line()
    writer.paragraph(_HOW_TO_READ)
    writer.paragraphs(analysis.notes)
