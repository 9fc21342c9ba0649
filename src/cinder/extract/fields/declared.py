"""What a page declares in meta tags and shows beside its heading, as candidates."""

from collections.abc import Callable, Collection, Iterator

from cinder.extract.fields.candidates import Candidate, CandidateList
from cinder.extract.fields.words import words_of
from cinder.model.document import PageMetadata
from cinder.model.extracted_data import Method

_UNTELLING = frozenset(("og:type", "og:locale", "og:site_name", "og:url", "og:title"))
_MAX_KEYWORDS = 50
_DATE_LENGTH = len("2025-01-31")
_TOLD = 0.95
# What cinder made out of all that a page declares and shows; linked data is a part of that, and
# often that of a template.
_MADE_OUT = 1.15


def read_declared_values(
    metadata: PageMetadata,
    meta: dict[str, str],
    headings: Collection[str],
    as_written: Callable[[str], str | None],
) -> Iterator[Candidate]:
    """Yield what the page says about itself: title, author, dates, properties of a product.

    Args:
        metadata: what was made of all that the page declares and shows.
        meta: the meta tags.
        headings: the texts of the page's first-rank headings.
        as_written: returns how the page itself writes a value, or None where it does not.
    """
    title_weight = _MADE_OUT if metadata.title in headings else _TOLD
    told = (
        (metadata.title, "name", title_weight),
        (metadata.description, "description", _TOLD),
        (metadata.author, "author", _MADE_OUT),
        (metadata.published, "published date", _MADE_OUT),
        (metadata.modified, "modified date", _MADE_OUT),
        (metadata.language, "language code", _TOLD),
        (metadata.canonical, "url", _TOLD),
        (metadata.site_name, "site name", _TOLD),
        (metadata.images[0] if metadata.images else None, "image", _TOLD),
    )
    for value, meaning, weight in told:
        if value and (text := as_written(value)):
            # A day that only stands beside the heading may be of something else.
            is_said = text[:_DATE_LENGTH] == value[:_DATE_LENGTH]
            yield _candidate(text, meaning, weight if is_said else _TOLD)
    for name, text in meta.items():
        # Those of other kinds speak of the page's delivery.
        if ":" in name and name not in _UNTELLING:
            yield _candidate(text, name.partition(":")[2].replace(":", " "), 1.0)


def read_keywords(metadata: PageMetadata) -> Iterator[CandidateList]:
    """Yield the page's keywords as a list."""
    items = tuple(_candidate(word, "keywords", _TOLD) for word in metadata.keywords)
    if items:
        label = words_of("keywords")
        yield CandidateList(items=items[:_MAX_KEYWORDS], label=label, said="keywords")


def _candidate(text: str, meaning: str, weight: float) -> Candidate:
    return Candidate(
        text=text, label=words_of(meaning), said=meaning, method=Method.META, weight=weight
    )
