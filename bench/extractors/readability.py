"""readability-lxml's text."""

from lxml.html import fromstring  # type: ignore[import-untyped]  # not in cinder's environment
from readability import Document  # type: ignore[import-not-found]  # not in cinder's environment

from bench.corpus import Page
from bench.prediction import Prediction, predict_each, task_of, task_parser


def main() -> None:
    def predict(_page: Page, body: bytes) -> Prediction:
        summary = Document(body.decode("utf-8", "replace")).summary()
        return Prediction(text=fromstring(summary).text_content() if summary else "")

    predict_each(task_of(task_parser().parse_args()), predict)


main()
