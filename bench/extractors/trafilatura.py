"""trafilatura's markdown, without comments; with `--fast`, by its fast way alone."""

from trafilatura import extract  # type: ignore[import-not-found]  # not in cinder's environment

from bench.corpus import Page
from bench.prediction import Prediction, predict_each, task_of, task_parser


def main() -> None:
    parser = task_parser()
    parser.add_argument("--fast", action="store_true")
    arguments = parser.parse_args()

    def predict(page: Page, body: bytes) -> Prediction:
        text = extract(
            body,
            url=page.url or None,
            output_format="markdown",
            include_comments=False,
            fast=arguments.fast,
        )
        return Prediction(text=text or "")

    predict_each(task_of(arguments), predict)


main()
