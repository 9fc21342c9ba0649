"""resiliparse's plain text of the main content, without the addresses of links."""

from resiliparse.extract.html2text import (  # type: ignore[import-not-found]  # see bench/peers
    extract_plain_text,
)
from resiliparse.parse.encoding import detect_encoding  # type: ignore[import-not-found]  # the same
from resiliparse.parse.html import HTMLTree  # type: ignore[import-not-found]  # the same

from bench.corpus import Page
from bench.prediction import Prediction, predict_each, task_of, task_parser


def predict(_page: Page, body: bytes) -> Prediction:
    tree = HTMLTree.parse_from_bytes(body, detect_encoding(body))
    # Of its ways of writing, the one that scores best here.
    text = extract_plain_text(tree, main_content=True, links=False, preserve_formatting=False)
    return Prediction(text=text)


predict_each(task_of(task_parser().parse_args()), predict)
