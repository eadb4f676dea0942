"""Which class reads which corpus config."""

from tiedlm.data.config import Corpus as CorpusConfig
from tiedlm.data.config import HubCorpus, PythonDocsCorpus, TextCorpus, WikitextCorpus
from tiedlm.data.corpus import Corpus
from tiedlm.data.hub import HubText
from tiedlm.data.python_docs import PythonDocs
from tiedlm.data.text import TextFiles
from tiedlm.data.wikitext import ALIASES, Wikitext


def open_corpus(config: CorpusConfig) -> Corpus:
    """The corpus of a config; nothing is read yet."""
    match config:
        case PythonDocsCorpus():
            return PythonDocs()
        case TextCorpus():
            return TextFiles(config)
        case WikitextCorpus() | HubCorpus():
            if isinstance(config, WikitextCorpus) or config.id in ALIASES:
                return Wikitext(config)
            return HubText(config)
