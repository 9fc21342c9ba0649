"""Dates on pages: parsed to ISO 8601, and chosen as publication or modification date."""

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import date, datetime

from selectolax.lexbor import LexborNode

from cinder.html.metadata.byline_elements import (
    ElementRole,
    HeadingContext,
    MarkedElements,
    texts_within,
)
from cinder.html.metadata.declared import SchemaOrgGraph
from cinder.html.tree import ancestors

# ruff: noqa: RUF001 - letters of other alphabets are meant

# English, German, French, Spanish, Portuguese, Italian, Dutch, the Scandinavian languages, Polish,
# Czech, Russian, Ukrainian, Turkish, Greek, Finnish and Romanian, in the grammatical case that
# dates have, with the usual short forms.
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

_MONTHS = {name: number for number, names in _MONTH_NAMES.items() for name in names.split()}


DATE_LENGTH = len("2025-01-31")
_TIMED_FORMATS = ("%a, %d %b %Y %H:%M:%S %z", "%Y/%m/%d %H:%M:%S%z")
_MAX_LENGTH = 64
# Earlier years are not dates of web pages; later ones are other numbers.
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
    """Return the date in ISO 8601, or unchanged when it is ambiguous or not a date."""
    text = text.strip()
    if len(text) > _MAX_LENGTH:
        return text[:_MAX_LENGTH]
    if iso := _from_iso(text):
        return iso
    zoned = text.replace("GMT", "+0000")
    for pattern in _TIMED_FORMATS:
        with suppress(ValueError):
            return datetime.strptime(zoned, pattern).isoformat()  # noqa: DTZ007 - all have %z
    return find_date(text) or text


def parse_date(text: str) -> str | None:
    """Return the date in ISO 8601, or None when it is ambiguous or not a date."""
    normalised = normalise_date(text)
    if len(normalised) < DATE_LENGTH or not _from_iso(normalised):
        return None
    return normalised if _FIRST_YEAR <= int(normalised[:4]) <= _LAST_YEAR else None


def find_date(text: str) -> str | None:
    """Return the first full date in a text, as ISO 8601, or None."""
    text = text[:_MAX_SEARCHED_CHARS]
    if not has_year(text):
        return None
    text = unicodedata.normalize("NFC", text)
    days: list[tuple[int, date | None]] = []
    for pattern in _WRITTEN_DATE:
        for found in pattern.finditer(text):
            groups = found.groupdict()
            name = groups.get("month")
            month = _MONTHS.get(name.lower(), 0) if name else int(groups["number"])
            days.append((found.start(), _day(int(groups["year"]), month, int(groups["day"]))))
    for found in _SLASHED_DATE.finditer(text):
        first, second, year = (int(found[name]) for name in ("first", "second", "year"))
        # 31/01/2025 and 01/31/2025 are clear; where both numbers may be the month, it is not.
        if first == second or max(first, second) > _MONTHS_IN_A_YEAR:
            days.append((found.start(), _day(year, second, first) or _day(year, first, second)))
    return min(((start, day.isoformat()) for start, day in days if day), default=(0, None))[1]


def has_year(text: str) -> bool:
    """Whether a text may contain a date; this is faster than `find_date`."""
    return _HAS_YEAR.search(text) is not None


def _day(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _from_iso(text: str) -> str | None:
    try:
        if len(text) == DATE_LENGTH:
            return date.fromisoformat(text).isoformat()
        # Shorter ones are a year or month without a day.
        return datetime.fromisoformat(text).isoformat() if len(text) > DATE_LENGTH else None
    except ValueError:
        return None


_PUBLISHED = (
    *("article:published_time", "datepublished", "date", "pubdate", "publish-date", "dc.date"),
    *("dc.date.issued", "og:published_time", "parsely-pub-date", "sailthru.date"),
    *("og:publish_date", "publishdate", "publish_date", "publication_date", "dcterms.created"),
    *("dcterms.date", "citation_publication_date", "citation_date", "article.published", "ms.date"),
    *("published-date", "published_date", "publication-date", "cxenseparse:publishtime"),
    *("datecreated", "created", "dc.date.created", "release_date", "published"),
)
# The names of sites that add a prefix, such as `acme-published-date`.
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
_MAX_LABEL_CHARS = 20


def find_published(
    meta: Mapping[str, str],
    graph: SchemaOrgGraph,
    marks: MarkedElements,
    surroundings: HeadingContext,
    address: str,
) -> str | None:
    """Return when a page was published, as ISO 8601, or None.

    A page that shows no other date is dated by its last change, as one would cite it.
    """
    if graph.is_collection:
        return None
    if declared := _declared_date(meta, graph, marks, surroundings):
        return declared
    # The dates on pages of products, and on a site's front page, are not the page's own.
    if graph.is_product or _FRONT_PAGE.fullmatch(address):
        return None
    return (
        _date_from_marks(marks, ElementRole.PUBLISHED, _published_in)
        or _date_from_url(address)
        or _date_from_marks(marks, ElementRole.AUTHOR, _published_in)
        or _date_from_texts(surroundings, _published_in)
        or _date_from_marks(marks, ElementRole.AUTHOR)
        or _date_near_author(marks)
        or _last_change(marks, surroundings)
    )


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
    """Return the date that a page declares, unless the page shows a better one."""
    # Checking for the word first spares nearly all names the pattern.
    alike = (
        value for name, value in meta.items() if "publi" in name and _PUBLISHED_NAME.search(name)
    )
    declared = _first_date(meta[name] for name in _PUBLISHED if name in meta) or _first_date(alike)
    if declared is None:
        declared = _first_date(graph.texts("datePublished", "dateCreated", "uploadDate"))
        # The date of a page's record alone does not date it: most pages that show no date offer a
        # service or a product.
        is_bare = declared is not None and graph.is_bare_page
        if is_bare and (graph.is_product or _last_change(marks, surroundings) is None):
            return None
    changed = _declared_change(meta, graph)
    if declared is None or changed is None or graph.is_product:
        return declared
    if declared[:DATE_LENGTH] < changed[:DATE_LENGTH]:
        return declared
    # Some generators write the day of the last change into both: an earlier one shown is right.
    shown = _date_from_marks(marks, ElementRole.PUBLISHED, _published_in) or _date_from_texts(
        surroundings, _published_in, _MAX_DATE_CHARS
    )
    return shown if shown and shown[:DATE_LENGTH] < declared[:DATE_LENGTH] else declared


def _declared_change(meta: Mapping[str, str], graph: SchemaOrgGraph) -> str | None:
    declared = _first_date(meta[name] for name in _MODIFIED if name in meta)
    return declared or _first_date(graph.texts("dateModified"))


def _first_date(texts: Iterable[str]) -> str | None:
    return next(filter(None, map(parse_date, texts)), None)


def _date_from_marks(
    marks: MarkedElements, role: ElementRole, read: Callable[[str], str | None] = find_date
) -> str | None:
    marked = marks.of(role)
    for position, mark in enumerate(marked):
        if found := _date_of(mark.element, read):
            if mark.is_near or role is ElementRole.AUTHOR:
                return found
            # The first of a list of dates is that of another page.
            alike = (other for other in marked[position + 1 :] if mark.looks_like(other))
            dates = (_date_of(other.element, read) for other in alike)
            is_listed = any(day and day[:DATE_LENGTH] != found[:DATE_LENGTH] for day in dates)
            return None if is_listed else found
    return None


def _date_of(element: LexborNode, read: Callable[[str], str | None]) -> str | None:
    for name in ("datetime", "content", "title"):
        value = element.attributes.get(name)
        if value and (found := parse_date(value)):
            return found
    return read(" ".join(texts_within(element)))


def _date_near_author(marks: MarkedElements) -> str | None:
    """Return the date in the line that names the author, anywhere on the page."""
    for mark in marks.of(ElementRole.AUTHOR)[:_MAX_BYLINES]:
        for holder in ancestors(mark.element, 2):
            line = " ".join(texts_within(holder))
            if len(line) <= _MAX_TEXT_CHARS and (found := find_date(line)):
                return found
    return None


def _last_change(marks: MarkedElements, surroundings: HeadingContext) -> str | None:
    """Return the date that a page shows, published or modified."""
    return (
        _date_from_marks(marks, ElementRole.MODIFIED)
        or _date_from_marks(marks, ElementRole.PUBLISHED)
        or _date_from_texts(surroundings, find_date)
    )


def _published_in(text: str) -> str | None:
    """Return the first date of a short text, unless it is labelled as another kind of date."""
    other = _UPDATED.search(text)
    return find_date(text[: other.start() if other else _MAX_TEXT_CHARS])


def _date_from_url(address: str) -> str | None:
    found = _DATE_IN_URL.search(address)
    if found is None:
        return None
    year, month, day = found.groups()
    return parse_date(f"{day} {month} {year}" if month.isalpha() else f"{year}-{month}-{day}")


def _date_from_texts(
    surroundings: HeadingContext,
    read: Callable[[str], str | None],
    max_chars: int | None = None,
) -> str | None:
    """Return a date close to the heading in a short text; texts over `max_chars` are skipped."""
    for texts in (surroundings.after, surroundings.before):
        label = ""
        for text in texts:
            if max_chars is not None and len(text) > max_chars:
                continue
            may_date = len(text) <= _MAX_TEXT_CHARS and has_year(text)
            if may_date and (found := read(f"{label} {text}")):
                return found
            # A date may be an element of its own after the label that says which date it is.
            is_label = len(text) <= _MAX_LABEL_CHARS and not any(map(str.isdigit, text))
            label = text if is_label else ""
    return None
