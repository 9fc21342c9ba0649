"""cinder as its service extracts, in the sandbox: the main content, or all but the chrome."""

import asyncio
import json
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.corpus import Page
from bench.prediction import Prediction, task_of, task_parser, write_predictions
from cinder.config.settings import read_settings
from cinder.errors import ParseLimitExceeded
from cinder.logs import configure_logs
from cinder.models.document import FetchedPage, FetchSource
from cinder.models.request import ContentOptions, ExtractOptions
from cinder.sandbox.pool import ChildOptions
from cinder.sandbox.sandbox import ExtractionSandbox


async def main() -> None:
    configure_logs("error")
    parser = task_parser()
    parser.add_argument("--folds", type=Path, help="scorers, none of which saw its pages' sites")
    parser.add_argument("--whole", action="store_true", help="all of a page but its chrome")
    arguments = parser.parse_args()
    task = task_of(arguments)
    options = ExtractOptions(content=ContentOptions(only_main_content=not arguments.whole))
    made: list[tuple[Page, Prediction]] = []
    own_seconds = 0.0
    for scorer, pages in _group(task.pages, arguments.folds):
        predictions, seconds = await predict(pages, scorer, options)
        made += zip(pages, predictions, strict=True)
        own_seconds += seconds
    # The sandboxes are closed by now, so that their processes are counted too.
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    write_predictions(task.out, made, own_seconds + children.ru_utime + children.ru_stime)


def _group(
    pages: Sequence[Page], folds: Path | None
) -> Iterator[tuple[Path | None, Sequence[Page]]]:
    """Yield the pages that may share a scorer, with that scorer; None is the shipped one."""
    if folds is None:
        yield None, pages
        return
    names: dict[str, str] = json.loads((folds / "pages.json").read_text())
    # A page without any text was no page to learn from; any scorer does.
    other = min(names.values())
    for name in sorted(set(names.values())):
        yield folds / name, [page for page in pages if names.get(page.key, other) == name]


async def predict(
    pages: Sequence[Page], scorer: Path | None, options: ExtractOptions
) -> tuple[list[Prediction], float]:
    """Extract pages in a sandbox of their own, and count this process's CPU seconds."""
    settings = read_settings().scrape
    predictions = []
    used = 0.0
    async with ExtractionSandbox(
        1,
        settings.extract_timeout_seconds,
        settings.extract_memory_bytes,
        children=ChildOptions(scorer=scorer),
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
        kept_share=1.0
        if extraction.metadata.kept_share is None
        else extraction.metadata.kept_share,
    )


def _as_fetched(page: Page) -> FetchedPage:
    return FetchedPage(
        url=page.url,
        final_url=page.url,
        status_code=200,
        headers={"content-type": "text/html"},
        body=page.read_body(),
        source=FetchSource.NATIVE,
        strategy="native",
    )


if __name__ == "__main__":
    asyncio.run(main())
