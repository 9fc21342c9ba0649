"""Pages as the signs of verdicts read them, for their tests."""

from cinder.models.document import Extraction, FetchedPage, FetchSource, PageMetadata
from cinder.verdicts.evidence import PageEvidence

STORY = (
    "The old quay wakes before the town does, and by five the lamps are lit along the water. "
    "Nobody speaks much; the work is known, and the cold sees to the rest of it. "
)


def reading(
    html: str,
    *,
    asked: str = "https://a.example/things/one",
    final: str | None = None,
    metadata: PageMetadata | None = None,
    word_count: int = 20,
) -> PageEvidence:
    page = FetchedPage(
        url=asked,
        final_url=final or asked,
        status_code=200,
        headers={"content-type": "text/html; charset=utf-8"},
        body=html.encode(),
        source=FetchSource.NATIVE,
        strategy="native",
    )
    content = Extraction(text=html, word_count=word_count, metadata=metadata or PageMetadata())
    return PageEvidence(page, content)
