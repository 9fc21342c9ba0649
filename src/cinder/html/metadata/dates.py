"""Dates on pages: parsed to ISO 8601, and chosen as publication or modification date."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime

from selectolax.lexbor import LexborNode

from cinder.html.metadata.byline_elements import (
    ElementRole,
    HeadingContext,
    MarkedElement,
    MarkedElements,
    texts_within,
)
from cinder.html.metadata.declared import SchemaOrgGraph

# ruff: noqa: RUF001 - letters of other alphabets are meant

# English, German, French, Spanish, Portuguese, Italian, Dutch, the Scandinavian languages, Polish,
# Czech, Russian, Ukrainian, Turkish, Greek, Finnish and Romanian, in the case that dates have, each
# with the short forms in use.
_MONTH_NAMES = {
    1: "january jan januar jänner janvier janv enero ene janeiro gennaio gen januari stycznia sty "
    "ledna января янв січня ocak oca ιανουαρίου ιαν tammikuuta ianuarie ian",
    2: "february feb februar februari février févr fév febrero fevereiro fev febbraio febr lutego "
    "lut února февраля фев лютого şubat şub φεβρουαρίου φεβ helmikuuta februarie",
    3: "march mar märz mrz mars marzo março maart mrt marca března марта мар березня mart μαρτίου "
    "μαρ maaliskuuta martie",
    4: "april apr avril avr abril abr aprile kwietnia kwi dubna апреля апр квітня nisan nis "
    "απριλίου απρ huhtikuuta aprilie",
    5: "may mai mayo maio maggio mag mei maj maja května мая травня mayıs μαΐου μαϊ toukokuuta",
    6: "june jun juni juin junio junho giugno giu czerwca cze června июня июн червня haziran haz "
    "ιουνίου ιουν kesäkuuta iunie iun",
    7: "july jul juli juillet juil julio julho luglio lug lipca lip července июля июл липня temmuz "
    "tem ιουλίου ιουλ heinäkuuta iulie iul",
    8: "august aug août aoû agosto ago augustus augusti sierpnia sie srpna августа авг серпня "
    "ağustos ağu αυγούστου αυγ elokuuta",
    9: "september sep sept septembre septiembre setembro set settembre septembrie września wrz "
    "září сентября сен вересня eylül eyl σεπτεμβρίου σεπ syyskuuta",
    10: "october oct oktober okt octobre octubre outubro out ottobre ott października paź října "
    "октября окт жовтня ekim eki οκτωβρίου οκτ lokakuuta octombrie",
    11: "november nov novembre noviembre novembro listopada lis listopadu ноября ноя листопада "
    "kasım kas νοεμβρίου νοε marraskuuta noiembrie noi",
    12: "december dec dezember dez décembre déc diciembre dic dezembro dicembre desember des "
    "grudnia gru prosince декабря дек грудня aralık ara δεκεμβρίου δεκ joulukuuta decembrie",
}

MONTHS = {name: number for number, names in _MONTH_NAMES.items() for name in names.split()}
"""The number of the month by its name in lower case."""


_DATE_LENGTH = len("2025-01-31")
_TIMED_FORMATS = ("%a, %d %b %Y %H:%M:%S %z", "%Y/%m/%d %H:%M:%S%z")
_MAX_LENGTH = 64
# What stands before it is no date of the web; what stands after it is a number of another kind.
_FIRST_YEAR, _LAST_YEAR = 1990, 2099
_MAX_SEARCHED_CHARS = 300

_HAS_YEAR = re.compile(r"(?:19|20)\d\d")
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_DAY = r"(?P<day>\d{1,2})"
_MONTH = r"(?P<month>[^\W\d_]{3,12})\.?"
_WRITTEN_DATE = tuple(
    re.compile(pattern)
    for pattern in (
        # 2025-01-31, 2025/1/31, 2025.1.31, 2025年1月31日, 2025년 1월 31일
        rf"(?<!\d){_YEAR}\s?[-/.年년]\s?(?P<number>\d{{1,2}})\s?[-/.月월]\s?{_DAY}(?!\d)",
        # 2025 Jan 31
        rf"(?<!\d){_YEAR}\s{_MONTH}\s{_DAY}(?!\d)",
        # January 31st, 2025
        rf"(?<!\w){_MONTH}\s{{1,2}}{_DAY}(?:st|nd|rd|th)?,?\s{{1,2}}{_YEAR}",
        # 31 January 2025, 31. Januar 2025, 31 de enero de 2025, 31-Jan-2025
        rf"(?<!\d){_DAY}(?:st|nd|rd|th|er|\.|º|ª)?[\s-]{{1,2}}(?:of |de |d')?{_MONTH},?"
        rf"[\s-]{{1,2}}(?:de )?{_YEAR}",
        # 31.01.2025
        rf"(?<!\d){_DAY}\.\s?(?P<number>\d{{1,2}})\.\s?{_YEAR}",
    )
)
_SLASHED_DATE = re.compile(rf"(?<!\d)(?P<first>\d{{1,2}})([/-])(?P<second>\d{{1,2}})\2{_YEAR}")
_MONTHS_IN_A_YEAR = 12


def normalise_date(text: str) -> str:
    """Return the date in ISO 8601, or as given when it cannot be read without guessing."""
    text = text.strip()
    if len(text) > _MAX_LENGTH:
        return text[:_MAX_LENGTH]
    return _from_iso(text) or _from_timed(text) or find_date(text) or text


def parse_date(text: str) -> str | None:
    """Return the date in ISO 8601, or None when it cannot be read without guessing."""
    normalised = normalise_date(text)
    return normalised if _is_in_range(normalised) else None


def find_date(text: str) -> str | None:
    """Return the first full date that stands in a text, as ISO 8601, or None."""
    text = text[:_MAX_SEARCHED_CHARS]
    if not has_year(text):
        return None
    text = unicodedata.normalize("NFC", text)
    matches = (
        (found.start(), day)
        for pattern in _WRITTEN_DATE
        for found in pattern.finditer(text)
        if (day := _day_of(found)) is not None
    )
    slashed = (
        (found.start(), day)
        for found in _SLASHED_DATE.finditer(text)
        if (day := _slashed_day_of(found)) is not None
    )
    first = min([*matches, *slashed], default=None)
    return first[1].isoformat() if first else None


def has_year(text: str) -> bool:
    """Whether a text may hold a date at all, which is sooner told than read."""
    return _HAS_YEAR.search(text) is not None


def _day_of(found: re.Match[str]) -> date | None:
    groups = found.groupdict()
    name = groups.get("month")
    month = MONTHS.get(name.lower(), 0) if name else int(groups["number"])
    return _day(int(groups["year"]), month, int(groups["day"]))


def _slashed_day_of(found: re.Match[str]) -> date | None:
    """Read 31/01/2025 and 01/31/2025; where both readings are dates, it would be a guess."""
    first, second, year = (int(found[name]) for name in ("first", "second", "year"))
    if first <= _MONTHS_IN_A_YEAR and second <= _MONTHS_IN_A_YEAR and first != second:
        return None
    return _day(year, second, first) or _day(year, first, second)


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _is_in_range(normalised: str) -> bool:
    if len(normalised) < _DATE_LENGTH or not _from_iso(normalised):
        return False
    return _FIRST_YEAR <= int(normalised[:4]) <= _LAST_YEAR


def _from_iso(text: str) -> str | None:
    try:
        if len(text) == _DATE_LENGTH:
            return date.fromisoformat(text).isoformat()
        # Shorter ones are a bare year or month, which would gain a day they never had.
        return datetime.fromisoformat(text).isoformat() if len(text) > _DATE_LENGTH else None
    except ValueError:
        return None


def _from_timed(text: str) -> str | None:
    for pattern in _TIMED_FORMATS:
        try:
            zoned = text.replace("GMT", "+0000")
            return datetime.strptime(zoned, pattern).isoformat()  # noqa: DTZ007 - all have %z
        except ValueError:
            continue
    return None


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
_DATE_IN_URL = re.compile(
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
    graph: SchemaOrgGraph,
    marks: MarkedElements,
    surroundings: HeadingContext,
    address: str,
) -> str | None:
    """Return when a page was published, as ISO 8601, or None.

    A page that shows no other date is dated by its last change: that is how one would cite it.
    """
    if graph.is_collection:
        return None
    if said := _declared_date(meta, graph, marks, surroundings):
        return said
    # Dates beside something that is sold, or beside all that a site offers, are not the page's.
    if graph.is_product or _FRONT_PAGE.fullmatch(address):
        return None
    sources: tuple[Callable[[], str | None], ...] = (
        lambda: _date_from_marks(marks, ElementRole.PUBLISHED, _published_in),
        lambda: _date_from_url(address),
        lambda: _date_from_marks(marks, ElementRole.AUTHOR, _published_in),
        lambda: _date_from_texts(surroundings, _published_in),
        lambda: _date_from_marks(marks, ElementRole.AUTHOR),
        lambda: _beside_author(marks),
        lambda: _last_change(marks, surroundings),
    )
    return next(filter(None, (source() for source in sources)), None)


def find_modified(
    meta: Mapping[str, str], graph: SchemaOrgGraph, marks: MarkedElements
) -> str | None:
    """Return when a page last changed, as ISO 8601, or None."""
    declared = _declared_change(meta, graph)
    if declared or any(name in meta for name in _PUBLISHED) or any(graph.texts("datePublished")):
        return declared
    return _date_from_marks(marks, ElementRole.MODIFIED)


def _declared_date(
    meta: Mapping[str, str],
    graph: SchemaOrgGraph,
    marks: MarkedElements,
    surroundings: HeadingContext,
) -> str | None:
    """Return the date that a page declares, unless what it shows tells better."""
    said = _date_from_meta(meta) or _date_from_graph(graph, marks, surroundings)
    changed = _declared_change(meta, graph)
    if said is None or changed is None or graph.is_product:
        return said
    if said[:_DAY_CHARS] < changed[:_DAY_CHARS]:
        return said
    # Some generators write the day of the last change into both: an earlier one shown is right.
    shown = _date_from_marks(marks, ElementRole.PUBLISHED, _published_in) or _alone_in(surroundings)
    return shown if shown and shown[:_DAY_CHARS] < said[:_DAY_CHARS] else said


def _date_from_meta(meta: Mapping[str, str]) -> str | None:
    named = (meta[name] for name in _PUBLISHED if name in meta)
    # The look for the word spares nearly all names the pattern.
    alike = (
        value for name, value in meta.items() if "publi" in name and _PUBLISHED_NAME.search(name)
    )
    return _first_date(named) or _first_date(alike)


def _date_from_graph(
    graph: SchemaOrgGraph, marks: MarkedElements, surroundings: HeadingContext
) -> str | None:
    said = _first_date(graph.texts("datePublished", "dateCreated", "uploadDate"))
    if said is None or not graph.is_bare_page:
        return said
    # That a page has a record of some day does not date it: most of those that show their readers
    # no date at all offer a service or something to buy.
    is_dated = not graph.is_product and _last_change(marks, surroundings) is not None
    return said if is_dated else None


def _declared_change(meta: Mapping[str, str], graph: SchemaOrgGraph) -> str | None:
    said = _first_date(meta[name] for name in _MODIFIED if name in meta)
    return said or _first_date(graph.texts("dateModified"))


def _alone_in(surroundings: HeadingContext) -> str | None:
    """Return the date next to the heading that is a text of its own."""
    near = (surroundings.after, surroundings.before)
    texts = ([text for text in each if len(text) <= _MAX_DATE_CHARS] for each in near)
    return next((found for each in texts for found in _dates_in(each, _published_in)), None)


def _first_date(texts: Iterable[str]) -> str | None:
    return next(filter(None, map(parse_date, texts)), None)


def _date_from_marks(
    marks: MarkedElements, role: ElementRole, read: Callable[[str], str | None] = find_date
) -> str | None:
    marked = marks.of(role)
    for position, mark in enumerate(marked):
        if found := _date_of(mark.element, read):
            return None if _is_listed(mark, found, marked[position + 1 :], read) else found
    return None


def _is_listed(
    mark: MarkedElement,
    date: str,
    others: Iterable[MarkedElement],
    read: Callable[[str], str | None],
) -> bool:
    """Whether a date is the first of a list's, which are those of other pages."""
    if mark.is_near or mark.role is ElementRole.AUTHOR:
        return False
    alike = (_date_of(other.element, read) for other in others if mark.looks_like(other))
    return any(other and other[:_DAY_CHARS] != date[:_DAY_CHARS] for other in alike)


def _date_of(element: LexborNode, read: Callable[[str], str | None]) -> str | None:
    for name in ("datetime", "content", "title"):
        said = element.attributes.get(name)
        if said and (found := parse_date(said)):
            return found
    return read(" ".join(texts_within(element)))


def _beside_author(marks: MarkedElements) -> str | None:
    """Return the date in the line that names the author, wherever on the page that is."""
    for mark in marks.of(ElementRole.AUTHOR)[:_MAX_BYLINES]:
        above = mark.element.parent
        for holder in (above, above.parent if above is not None else None):
            line = " ".join(texts_within(holder)) if holder is not None else ""
            if len(line) <= _MAX_TEXT_CHARS and (found := find_date(line)):
                return found
    return None


def _last_change(marks: MarkedElements, surroundings: HeadingContext) -> str | None:
    """Return the date that a page shows, whatever it is the date of."""
    return (
        _date_from_marks(marks, ElementRole.MODIFIED)
        or _date_from_marks(marks, ElementRole.PUBLISHED)
        or _date_from_texts(surroundings, find_date)
    )


def _published_in(text: str) -> str | None:
    """Return the first date of a short text, unless it is said to be of something else."""
    other = _UPDATED.search(text)
    return find_date(text[: other.start() if other else _MAX_TEXT_CHARS])


def _date_from_url(address: str) -> str | None:
    found = _DATE_IN_URL.search(address)
    if found is None:
        return None
    year, month, day = found.groups()
    return parse_date(f"{day} {month} {year}" if month.isalpha() else f"{year}-{month}-{day}")


def _date_from_texts(surroundings: HeadingContext, read: Callable[[str], str | None]) -> str | None:
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
