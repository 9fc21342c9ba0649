"""The fields of a schema: how many are right and found on generated pages, without a model."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from cinder.documents.page_content import extract_content
from cinder.extraction.filling import extract_fields
from cinder.models.extraction import ExtractedData
from cinder.models.request import ExtractOptions
from tests.extraction.pages.facts import Page
from tests.extraction.pages.generator import generate_pages
from tests.extraction.pages.scoring import Score, score_data

BAR_PRECISION, BAR_RECALL = 0.9, 0.75


async def bench_fields() -> None:
    """Print precision and recall on the tuned and the held-out templates."""
    for is_held_out in (False, True):
        _measure("held-out" if is_held_out else "tuned", generate_pages(is_held_out=is_held_out))
    print(f"fields: bars on held-out templates: precision {BAR_PRECISION}, recall {BAR_RECALL}")


def _measure(name: str, pages: Iterable[Page]) -> None:
    by_template: dict[str, Score] = defaultdict(Score)
    by_kind: dict[str, Score] = defaultdict(Score)
    groundings: Counter[str] = Counter()
    count, seconds = 0, 0.0
    for page in pages:
        markdown = _markdown_of(page)
        start = time.process_time()
        found = extract_fields(page.html, markdown, url=page.url, schema=page.schema)
        seconds += time.process_time() - start
        count += 1
        score = score_data(found.data, page.truth)
        by_template[page.template] += score
        by_kind[page.kind] += score
        groundings.update(_groundings(found))
    total = sum(by_template.values(), Score())
    print(f"fields: {name}, {count} pages: {_told(total)}, {seconds / count * 1000:.1f} ms a page")
    print(f"  {', '.join(f'{number} {kind}' for kind, number in groundings.most_common())}")
    _print_scores(by_template)
    _print_scores(by_kind)


def _markdown_of(page: Page) -> str | None:
    content = extract_content(
        page.html.encode(),
        content_type="text/html; charset=utf-8",
        url=page.url,
        options=ExtractOptions(),
    )
    return content.markdown


def _groundings(found: ExtractedData) -> list[str]:
    return [str(value.evidence[0].grounding) for value in found.values]


def _print_scores(scores: Mapping[str, Score]) -> None:
    for name, score in scores.items():
        print(f"  {name:<22} {_told(score)}")


def _told(score: Score) -> str:
    return f"precision {score.precision:.3f}, recall {score.recall:.3f}"
