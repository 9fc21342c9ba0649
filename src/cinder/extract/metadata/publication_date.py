"""When a page was published and last changed, by what it says, its markup, its address or text."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from selectolax.lexbor import LexborNode

from cinder.extract.metadata.dates import find_date, read_date
from cinder.extract.metadata.marked_elements import Marks, Role
from cinder.extract.metadata.nearby_text import Surroundings, texts_within
from cinder.extract.metadata.schema_org import Graph

_PUBLISHED = (
    *("article:published_time", "datepublished", "date", "pubdate", "publish-date", "dc.date"),
    *("dc.date.issued", "og:published_time", "parsely-pub-date", "sailthru.date"),
    *("og:publish_date", "publishdate", "publish_date", "publication_date", "dcterms.created"),
    *("dcterms.date", "citation_publication_date", "citation_date", "article.published", "ms.date"),
    *("published-date", "published_date", "publication-date", "cxenseparse:publishtime"),
    *("datecreated", "created", "dc.date.created", "release_date"),
)
_MODIFIED = (
    *("article:modified_time", "datemodified", "og:updated_time", "last-modified"),
    *("dcterms.modified", "dc.date.modified", "og:article:modified_time", "article.updated"),
)
_IN_ADDRESS = re.compile(r"/((?:19|20)\d\d)[/-](\d{1,2})[/-](\d{1,2})(?=[/-]|\Z)")
_UPDATED = re.compile(r"\b(?:updated|modified|reviewed|edited|copyright|©)", re.IGNORECASE)
_MAX_TEXT_CHARS = 120
# The dates that a page shows beside something that it sells are not its own.
_DECLARED_SOURCES = 2
_DAY_CHARS = len("2025-01-31")
_MAX_LABEL_CHARS = 20


def find_published(
    meta: Mapping[str, str],
    graph: Graph,
    marks: Marks,
    surroundings: Surroundings,
    address: str,
) -> str | None:
    """Return when a page was published, as ISO 8601, or None.

    A page that shows no other date is dated by its last change: that is how one would cite it.
    """
    sources: tuple[Callable[[], str | None], ...] = (
        lambda: _first_date(meta[name] for name in _PUBLISHED if name in meta),
        lambda: _from_graph(graph, marks),
        lambda: _from_marks(marks, Role.PUBLISHED, _published_in),
        lambda: _from_address(address),
        lambda: _from_texts(surroundings, _published_in),
        lambda: _from_marks(marks, Role.AUTHOR),
        lambda: _last_change(marks, surroundings),
    )
    tried = sources[:_DECLARED_SOURCES] if graph.is_product else sources
    return next(filter(None, (source() for source in tried)), None)


def find_modified(meta: Mapping[str, str], graph: Graph, marks: Marks) -> str | None:
    """Return when a page last changed, as ISO 8601, or None."""
    declared = _first_date(meta[name] for name in _MODIFIED if name in meta)
    declared = declared or _first_date(graph.texts("dateModified"))
    if declared or any(name in meta for name in _PUBLISHED) or any(graph.texts("datePublished")):
        return declared
    return _from_marks(marks, Role.MODIFIED)


def _from_graph(graph: Graph, marks: Marks) -> str | None:
    said = _first_date(graph.texts("datePublished", "dateCreated", "uploadDate"))
    changed = _first_date(graph.texts("dateModified"))
    if said is None or changed is None or said[:_DAY_CHARS] != changed[:_DAY_CHARS]:
        return said
    # Some generators write the day of the last change into both: an earlier one shown is right.
    shown = _from_marks(marks, Role.PUBLISHED, _published_in)
    return shown if shown and shown[:_DAY_CHARS] < said[:_DAY_CHARS] else said


def _first_date(texts: Iterable[str]) -> str | None:
    return next(filter(None, map(read_date, texts)), None)


def _from_marks(
    marks: Marks, role: Role, read: Callable[[str], str | None] = find_date
) -> str | None:
    dates = (_date_of(mark.element, read) for mark in marks.of(role))
    return next(filter(None, dates), None)


def _date_of(element: LexborNode, read: Callable[[str], str | None]) -> str | None:
    for name in ("datetime", "content", "title"):
        said = element.attributes.get(name)
        if said and (found := read_date(said)):
            return found
    return read(" ".join(texts_within(element)))


def _last_change(marks: Marks, surroundings: Surroundings) -> str | None:
    """Return the date that a page shows, whatever it is the date of."""
    return (
        _from_marks(marks, Role.MODIFIED)
        or _from_marks(marks, Role.PUBLISHED)
        or _from_texts(surroundings, find_date)
    )


def _published_in(text: str) -> str | None:
    """Return the first date of a short text, unless it is said to be of something else."""
    other = _UPDATED.search(text)
    return find_date(text[: other.start() if other else _MAX_TEXT_CHARS])


def _from_address(address: str) -> str | None:
    found = _IN_ADDRESS.search(address)
    return read_date("{}-{:0>2}-{:0>2}".format(*found.groups())) if found else None


def _from_texts(surroundings: Surroundings, read: Callable[[str], str | None]) -> str | None:
    """Return a date that stands alone, or nearly so, close to the heading."""
    for texts in (surroundings.after, surroundings.before):
        if found := next(_dates_in(texts, read), None):
            return found
    return None


def _dates_in(texts: Iterable[str], read: Callable[[str], str | None]) -> Iterator[str]:
    label = ""
    for text in texts:
        if len(text) <= _MAX_TEXT_CHARS and (found := read(f"{label} {text}")):
            yield found
        # A date may be an element of its own behind the word that tells what it is the date of.
        is_label = len(text) <= _MAX_LABEL_CHARS and not any(map(str.isdigit, text))
        label = text if is_label else ""
