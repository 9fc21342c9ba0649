"""When a page was published and last changed, by what it says, its markup, its address or text."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from selectolax.lexbor import LexborNode

from cinder.extract.metadata.dates import find_date, has_year, read_date
from cinder.extract.metadata.marked_elements import Mark, Marks, Role
from cinder.extract.metadata.nearby_text import Surroundings, texts_within
from cinder.extract.metadata.schema_org import Graph

_PUBLISHED = (
    *("article:published_time", "datepublished", "date", "pubdate", "publish-date", "dc.date"),
    *("dc.date.issued", "og:published_time", "parsely-pub-date", "sailthru.date"),
    *("og:publish_date", "publishdate", "publish_date", "publication_date", "dcterms.created"),
    *("dcterms.date", "citation_publication_date", "citation_date", "article.published", "ms.date"),
    *("published-date", "published_date", "publication-date", "cxenseparse:publishtime"),
    *("datecreated", "created", "dc.date.created", "release_date", "published"),
)
# What sites call it that have names of their own, as `acme-published-date`.
_PUBLISHED_NAME = re.compile(r"publi(?:sh|shed|cation)[-_.]?date\Z")
_MODIFIED = (
    *("article:modified_time", "datemodified", "og:updated_time", "last-modified"),
    *("dcterms.modified", "dc.date.modified", "og:article:modified_time", "article.updated"),
)
_IN_ADDRESS = re.compile(
    r"/(?P<year>(?:19|20)\d\d)[/-](?P<month>\d{1,2}|[a-z]{3,9})[/-](?P<day>\d{1,2})(?![\w.])",
    re.IGNORECASE,
)
_FRONT_PAGE = re.compile(r"\w+://[^/?#]+/?(?:#.*)?")
_UPDATED = re.compile(r"\b(?:updated|modified|reviewed|edited|copyright|©)", re.IGNORECASE)
_MAX_TEXT_CHARS = 120
_MAX_DATE_CHARS = 40
_MAX_BYLINES = 3
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
    if graph.is_collection:
        return None
    if said := _declared(meta, graph, marks, surroundings):
        return said
    # Dates beside something that is sold, or beside all that a site offers, are not the page's.
    if graph.is_product or _FRONT_PAGE.fullmatch(address):
        return None
    sources: tuple[Callable[[], str | None], ...] = (
        lambda: _from_marks(marks, Role.PUBLISHED, _published_in),
        lambda: _from_address(address),
        lambda: _from_marks(marks, Role.AUTHOR, _published_in),
        lambda: _from_texts(surroundings, _published_in),
        lambda: _from_marks(marks, Role.AUTHOR),
        lambda: _beside_author(marks),
        lambda: _last_change(marks, surroundings),
    )
    return next(filter(None, (source() for source in sources)), None)


def find_modified(meta: Mapping[str, str], graph: Graph, marks: Marks) -> str | None:
    """Return when a page last changed, as ISO 8601, or None."""
    declared = _declared_change(meta, graph)
    if declared or any(name in meta for name in _PUBLISHED) or any(graph.texts("datePublished")):
        return declared
    return _from_marks(marks, Role.MODIFIED)


def _declared(
    meta: Mapping[str, str], graph: Graph, marks: Marks, surroundings: Surroundings
) -> str | None:
    """Return the date that a page declares, unless what it shows tells better."""
    said = _from_meta(meta) or _from_graph(graph, marks, surroundings)
    changed = _declared_change(meta, graph)
    if said is None or changed is None or graph.is_product:
        return said
    if said[:_DAY_CHARS] < changed[:_DAY_CHARS]:
        return said
    # Some generators write the day of the last change into both: an earlier one shown is right.
    shown = _from_marks(marks, Role.PUBLISHED, _published_in) or _alone_in(surroundings)
    return shown if shown and shown[:_DAY_CHARS] < said[:_DAY_CHARS] else said


def _from_meta(meta: Mapping[str, str]) -> str | None:
    named = (meta[name] for name in _PUBLISHED if name in meta)
    # The look for the word spares nearly all names the pattern.
    alike = (
        value for name, value in meta.items() if "publi" in name and _PUBLISHED_NAME.search(name)
    )
    return _first_date(named) or _first_date(alike)


def _from_graph(graph: Graph, marks: Marks, surroundings: Surroundings) -> str | None:
    said = _first_date(graph.texts("datePublished", "dateCreated", "uploadDate"))
    if said is None or not graph.is_bare_page:
        return said
    # That a page has a record of some day does not date it: most of those that show their readers
    # no date at all offer a service or something to buy.
    is_dated = not graph.is_product and _last_change(marks, surroundings) is not None
    return said if is_dated else None


def _declared_change(meta: Mapping[str, str], graph: Graph) -> str | None:
    said = _first_date(meta[name] for name in _MODIFIED if name in meta)
    return said or _first_date(graph.texts("dateModified"))


def _alone_in(surroundings: Surroundings) -> str | None:
    """Return the date next to the heading that is a text of its own."""
    near = (surroundings.after, surroundings.before)
    texts = ([text for text in each if len(text) <= _MAX_DATE_CHARS] for each in near)
    return next((found for each in texts for found in _dates_in(each, _published_in)), None)


def _first_date(texts: Iterable[str]) -> str | None:
    return next(filter(None, map(read_date, texts)), None)


def _from_marks(
    marks: Marks, role: Role, read: Callable[[str], str | None] = find_date
) -> str | None:
    marked = marks.of(role)
    for position, mark in enumerate(marked):
        if found := _date_of(mark.element, read):
            return None if _is_listed(mark, found, marked[position + 1 :], read) else found
    return None


def _is_listed(
    mark: Mark, date: str, others: Iterable[Mark], read: Callable[[str], str | None]
) -> bool:
    """Whether a date is the first of a list's, which are those of other pages."""
    if mark.is_near or mark.role is Role.AUTHOR:
        return False
    alike = (_date_of(other.element, read) for other in others if mark.looks_like(other))
    return any(other and other[:_DAY_CHARS] != date[:_DAY_CHARS] for other in alike)


def _date_of(element: LexborNode, read: Callable[[str], str | None]) -> str | None:
    for name in ("datetime", "content", "title"):
        said = element.attributes.get(name)
        if said and (found := read_date(said)):
            return found
    return read(" ".join(texts_within(element)))


def _beside_author(marks: Marks) -> str | None:
    """Return the date in the line that names the author, wherever on the page that is."""
    for mark in marks.of(Role.AUTHOR)[:_MAX_BYLINES]:
        above = mark.element.parent
        for holder in (above, above.parent if above is not None else None):
            line = " ".join(texts_within(holder)) if holder is not None else ""
            if len(line) <= _MAX_TEXT_CHARS and (found := find_date(line)):
                return found
    return None


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
    if found is None:
        return None
    year, month, day = found.groups()
    return read_date(f"{day} {month} {year}" if month.isalpha() else f"{year}-{month}-{day}")


def _from_texts(surroundings: Surroundings, read: Callable[[str], str | None]) -> str | None:
    """Return a date that stands alone, or nearly so, close to the heading."""
    for texts in (surroundings.after, surroundings.before):
        if found := next(_dates_in(texts, read), None):
            return found
    return None


def _dates_in(texts: Iterable[str], read: Callable[[str], str | None]) -> Iterator[str]:
    label = ""
    for text in texts:
        may_tell = len(text) <= _MAX_TEXT_CHARS and has_year(text)
        if may_tell and (found := read(f"{label} {text}")):
            yield found
        # A date may be an element of its own behind the word that tells what it is the date of.
        is_label = len(text) <= _MAX_LABEL_CHARS and not any(map(str.isdigit, text))
        label = text if is_label else ""
