"""trafilatura's metadata, with its wide search for dates, which is what it does by itself."""

from trafilatura import (  # type: ignore[import-not-found]  # not in cinder's environment
    extract_metadata,
    load_html,
)

from bench.corpus import Page
from bench.prediction import Prediction, predict_each, task_of, task_parser


def predict(page: Page, body: bytes) -> Prediction:
    found = extract_metadata(load_html(body), default_url=page.url or None)
    return Prediction(
        title=found.title or "", author=found.author or "", published=found.date or ""
    )


predict_each(task_of(task_parser().parse_args()), predict)
