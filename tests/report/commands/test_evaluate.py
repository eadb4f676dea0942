"""What `evaluate` prints of one split."""

import io

from rich.console import Console

from tests.support.finished_runs import split_result
from tiedlm.evaluation.absence import score_reasons
from tiedlm.evaluation.measures import bits_per_byte, nats_per_token, perplexity, word_perplexity
from tiedlm.report.commands.evaluate import render_evaluation
from tiedlm.run.result import SplitResult


def shown(result: SplitResult) -> str:
    nll, words, num_bytes = result.nll, result.words, result.bytes
    document = {
        **result.model_dump(),
        "run": "runs/example/tied/seed-0",
        "split": "test",
        "precision": "fp32",
        "nats_per_token": nats_per_token(nll, result.tokens),
        "token_perplexity": perplexity(nll, result.tokens),
        "word_perplexity": word_perplexity(nll, words, num_bytes),
        "bits_per_byte": bits_per_byte(nll, num_bytes),
        "unigram_perplexity": perplexity(result.unigram_nll, result.tokens),
        "absent": score_reasons(nll, result.tokens, words, num_bytes, result.words_reason, result.bytes_reason),
    }
    stream = io.StringIO()
    render_evaluation(document, Console(file=stream, width=80))
    return " ".join(stream.getvalue().split())


def test_what_is_absent_has_its_reason_below() -> None:
    assert "–" not in shown(split_result(4.0))
    lossy = shown(split_result(4.0, words=None, words_reason="12 words became <unk>"))
    assert "perplexity per word –" in lossy
    assert "perplexity per word, words: none, 12 words became <unk>." in lossy
    assert "perplexity per word: none, the text does not put white space" in shown(
        split_result(4.0, words=59, bytes=4_022)
    )
    assert "perplexity per token: none, exp of 800.0 nats per token is beyond" in shown(split_result(800.0))
