"""Crawler traps: limits on URL templates without end, such as calendars, facets and loops.

Large sites must pass: `/product/123` and `/2024/05/title` are never counted, and
`/viewtopic.php?t=123` is counted up to a number that only generated URLs reach. Small limits apply
to URLs that a site can generate without new content: the days of a calendar, and the ways to sort
and filter a list.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from cinder.crawl.urls import CanonicalUrl

_WILDCARD = "*"
# One or two parameters often identify a page, a few more rarely do, and many never do.
_MOST_NAMING = 2
_MOST_COMBINED = 5

_ANY_DIGIT = re.compile(r"[0-9]")
# Segments that are enumerated: numbers, dates, hashes, ids, numbered names.
_COUNTED = re.compile(
    r"[0-9][0-9.,_:T-]*|[0-9a-f]{8,}(?:-[0-9a-f]{4,})*|(?=[a-z_-]{0,64}[0-9])[0-9a-z_-]{16,}",
    re.IGNORECASE,
)
_NUMBERS = re.compile(r"[0-9]+")
_YEAR = r"(?:19|20|21)[0-9]{2}"
_MONTH = (
    r"(?:0?[1-9]|1[0-2]|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?"
    r"|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
# A path that ends in a month or a day, of which there is no end.
_ENDS_IN_DATE = re.compile(
    rf"/(?:{_YEAR}/{_MONTH}(?:/[0-9]{{1,2}})?|{_YEAR}-[0-9]{{1,2}}(?:-[0-9]{{1,2}})?"
    rf"|{_YEAR}-?w[0-9]{{1,2}})/?$",
    re.IGNORECASE,
)
_ENDS_IN_PAGE_NUMBER = re.compile(r"/(?:page|seite|pagina)[/-]?[0-9]+/?$", re.IGNORECASE)
_DATE_VALUE = re.compile(
    rf"{_YEAR}-[0-9]{{1,2}}(?:-[0-9]{{1,2}})?(?:T.{{0,40}})?", re.IGNORECASE | re.DOTALL
)
_CALENDAR_WORD = re.compile(
    r"calendar|kalender|calendrier|calendario|agenda|events?\b|schedule", re.IGNORECASE
)

_DATE_NAMES_LISTED = (
    "date day month year week cal caldate cal_date eventdate event_date startdate "
    "start_date enddate end_date datefrom dateto date_from date_to tribe-bar-date ical yr "
    "mo"
)
_DATE_NAMES = frozenset(_DATE_NAMES_LISTED.split())
_PAGE_NAMES_LISTED = "page pg paged pageno page_no pagenum page_num pn offset cursor"
_PAGE_NAMES = frozenset(_PAGE_NAMES_LISTED.split())
_FACET_NAMES_LISTED = (
    "sort sortby sort_by sortorder sort_order order orderby order_by orderdir dir "
    "direction asc desc limit per_page perpage pagesize page_size items_per_page filter "
    "filters facet facets color colour size brand material gender price pricemin pricemax "
    "price_min price_max min_price max_price minprice maxprice rating availability "
    "instock in_stock refine refinements swatch replytocom share print printable"
)
_FACET_NAMES = frozenset(_FACET_NAMES_LISTED.split())
_FACET_PREFIXES = ("filter", "facet", "attr", "pf_", "refine", "sort")


class TemplateKind(StrEnum):
    """Why a template has many URLs."""

    CALENDAR = "calendar"
    DATED_PATH = "dated path"
    FACETS = "facets"
    PAGE_NUMBERS = "page numbers"
    COMBINATIONS = "combinations"
    PARAMETERS = "parameters"


@dataclass(frozen=True, slots=True)
class Template:
    """The common pattern of generated URLs."""

    kind: TemplateKind
    key: str
    """Kind, host and shape, equal for all URLs of a template."""
    shown: str
    """The shape alone, such as /calendar?month=*."""


def template_of(address: CanonicalUrl) -> Template | None:
    """Return the template of a URL, or None where URLs like it need no limit.

    A path without a query has one only where it ends in a date or a page number. By other paths,
    an endless site looks like a large one.
    """
    path, query = address.path, address.query
    if query:
        kind, names = _kind_of_query(query)
        if kind is TemplateKind.PARAMETERS and _ENDS_IN_DATE.search(path):
            kind = TemplateKind.CALENDAR
        return _template(kind, address.authority, f"{_shape_of(path)}?{names}")
    if not _ANY_DIGIT.search(path):
        return None
    if _ENDS_IN_DATE.search(path):
        is_calendar = _CALENDAR_WORD.search(path) is not None
        kind = TemplateKind.CALENDAR if is_calendar else TemplateKind.DATED_PATH
        return _template(kind, address.authority, _shape_of(path))
    if _ENDS_IN_PAGE_NUMBER.search(path):
        return _template(TemplateKind.PAGE_NUMBERS, address.authority, _shape_of(path))
    return None


def _template(kind: TemplateKind, authority: str, shown: str) -> Template:
    return Template(kind, f"{kind.value} {authority}{shown}", shown)


def _kind_of_query(query: str) -> tuple[TemplateKind, str]:
    """Return the kind of template of a query, and its shape."""
    pairs = [parameter.partition("=") for parameter in query.split("&")]
    names = [name.lower() for name, _, _ in pairs]
    for name, (_, _, value) in zip(names, pairs, strict=True):
        if name in _DATE_NAMES or _DATE_VALUE.fullmatch(value):
            # Other parameters do not make it another calendar.
            return TemplateKind.CALENDAR, f"{name}={_WILDCARD}"
    is_faceted = any(
        name in _FACET_NAMES or name.startswith(_FACET_PREFIXES) or "[" in name or "%5b" in name
        for name in names
    )
    # One template for all sets of facets: their number is endless.
    if len(pairs) > _MOST_COMBINED or is_faceted:
        return TemplateKind.FACETS, _WILDCARD
    if len(pairs) > _MOST_NAMING:
        return TemplateKind.COMBINATIONS, _WILDCARD
    shape = "&".join(f"{_NUMBERS.sub(_WILDCARD, name)}={_WILDCARD}" for name in names)
    is_page_number = len(names) == 1 and names[0] in _PAGE_NAMES
    return TemplateKind.PAGE_NUMBERS if is_page_number else TemplateKind.PARAMETERS, shape


def _shape_of(path: str) -> str:
    if not _ANY_DIGIT.search(path):
        return path
    return "/".join(
        _WILDCARD if _COUNTED.fullmatch(segment) else _NUMBERS.sub(_WILDCARD, segment)
        for segment in path.split("/")
    )


TRAP = "trap"

# Repeated numbers are no loop: /2024/01/01/01.
_SEGMENT_REPEATED = 4
# The same one to four segments three times in a row.
_LOOP = re.compile(r"((?:/[^/]{1,200}){1,4})\1\1(?=/|$)")
_LETTER = re.compile(r"[A-Za-z%]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapLimits:
    """How many URLs of each kind of template may be fetched."""

    calendars: int = 50
    """URLs of one template that differ by their date."""
    dated_paths: int = 400
    """Paths that end in a date: the archive of a journal rather than a calendar."""
    facets: int = 200
    """Ways to sort, filter and combine one list."""
    page_numbers: int = 1_000
    """Pages of one list."""
    combinations: int = 2_000
    """URLs of one path with three parameters or more that are not known facets."""
    parameters: int = 10_000
    """Other URLs of one template with a query, as forums and old shops use for their pages."""
    path_segments: int = 25
    url_chars: int = 2_000
    query_parameters: int = 12

    def limit_of(self, kind: TemplateKind) -> int:
        """Return how many URLs a template of a kind may have."""
        return {
            TemplateKind.CALENDAR: self.calendars,
            TemplateKind.DATED_PATH: self.dated_paths,
            TemplateKind.FACETS: self.facets,
            TemplateKind.PAGE_NUMBERS: self.page_numbers,
            TemplateKind.COMBINATIONS: self.combinations,
            TemplateKind.PARAMETERS: self.parameters,
        }[kind]


def find_shape_trap(address: CanonicalUrl, limits: TrapLimits) -> str | None:
    """Return why a URL is a trap by its own shape, or None."""
    if len(address.key) > limits.url_chars:
        return f"{TRAP}: longer than {limits.url_chars} characters"
    if address.query.count("&") >= limits.query_parameters:
        return f"{TRAP}: more than {limits.query_parameters} query parameters"
    slashes = address.path.count("/")
    if slashes > limits.path_segments:
        return f"{TRAP}: more than {limits.path_segments} path segments"
    # Shorter paths cannot contain anything three times.
    if slashes >= 3 and _repeats_itself(address.path):
        return f"{TRAP}: the path repeats itself"
    return None


class TrapCounter:
    """Judges the URLs of a crawl as they are found, and counts the accepted ones by template."""

    def __init__(self, limits: TrapLimits, counts: Mapping[str, int] | None = None) -> None:
        self._limits = limits
        self.counts = dict(counts or {})
        """The number of accepted URLs by template key."""

    def judge(self, address: CanonicalUrl) -> str | None:
        """Return why a new URL is a trap, or None: it is accepted and counted.

        Call it once for each key, and after the scope: other URLs must not be counted.
        """
        if reason := find_shape_trap(address, self._limits):
            return reason
        template = template_of(address)
        if template is None:
            return None
        count = self.counts.get(template.key, 0)
        limit = self._limits.limit_of(template.kind)
        if count >= limit:
            return f"{TRAP}: more than {limit} URLs like {template.shown}"
        self.counts[template.key] = count + 1
        return None


def _repeats_itself(path: str) -> bool:
    segments = path.split("/")
    if len(set(segments)) == len(segments):
        return False
    loop = _LOOP.search(path)
    if loop is not None and _LETTER.search(loop[1]):
        return True
    repeated = (part for part in set(segments) if segments.count(part) >= _SEGMENT_REPEATED)
    return any(_LETTER.search(part) for part in repeated)
