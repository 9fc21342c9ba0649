"""cinder as its service extracts: in the sandbox, with the options of a bare request."""

import resource
import sys
import time
from collections.abc import Sequence

import uvloop

from bench.corpus import Page
from bench.prediction import Prediction, task_of, task_parser, write_predictions
from cinder.config import read_settings
from cinder.errors import ParseLimitExceeded
from cinder.extract.options import ExtractOptions
from cinder.model.document import FetchedPage, Source
from cinder.services.sandbox import ExtractionSandbox
from cinder.surfaces.logs import set_up_logs


async def main() -> None:
    set_up_logs("error")
    task = task_of(task_parser().parse_args())
    predictions, own_seconds = await predict(task.pages)
    # The sandbox is closed by now, so that its processes are counted too.
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    write_predictions(
        task.out,
        zip(task.pages, predictions, strict=True),
        own_seconds + children.ru_utime + children.ru_stime,
    )


async def predict(pages: Sequence[Page]) -> tuple[list[Prediction], float]:
    """Extract a group of pages in a sandbox of its own, and count this process's CPU seconds.

    Pages that need a model which never saw their site are a group each: what a group shares goes
    into its sandbox or into its options.
    """
    settings = read_settings().scrape
    options = ExtractOptions()
    predictions = []
    used = 0.0
    async with ExtractionSandbox(
        1, settings.extract_timeout_seconds, settings.extract_memory_bytes
    ) as sandbox:
        for page in pages:
            fetched = _as_fetched(page)
            before = time.process_time()
            predictions.append(await _predict_one(sandbox, fetched, options))
            used += time.process_time() - before
    return predictions, used


async def _predict_one(
    sandbox: ExtractionSandbox, page: FetchedPage, options: ExtractOptions
) -> Prediction:
    try:
        extraction = await sandbox.extract(page, options)
    except ParseLimitExceeded as exc:
        print(f"{page.url}: {exc}", file=sys.stderr)
        return Prediction()
    return Prediction(
        text=extraction.markdown or "",
        title=extraction.metadata.title or "",
        author=extraction.metadata.author or "",
        published=extraction.metadata.published or "",
    )


def _as_fetched(page: Page) -> FetchedPage:
    return FetchedPage(
        url=page.url,
        final_url=page.url,
        status_code=200,
        headers={"content-type": "text/html"},
        body=page.read_body(),
        source=Source.NATIVE,
        strategy="native",
    )


if __name__ == "__main__":
    uvloop.run(main())
