"""Crawler traps: limits on URL templates without end, such as calendars, facets and loops.

What has a page for every address must pass, however large the site: `/product/123` and
`/2024/05/title` are never counted, and `/viewtopic.php?t=123` is counted, but up to a number that
only machines reach. Counted with small bounds is what a site can make more of without having
more to say: the days of a calendar, and the ways to sort and filter a list.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from cinder.crawl.urls import CanonicalUrl

_WILDCARD = "*"
# One or two parameters name a page; a page that some more name is rare, and one of many is none.
_MOST_NAMING = 2
_MOST_COMBINED = 5

_ANY_DIGIT = re.compile(r"[0-9]")
# What a segment or a name is by counting: numbers, dates, hashes, ids, numbered names.
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
# A path that ends in a month or a day, of which there are as many as one likes to ask for.
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
    """Why there are many addresses of a template."""

    CALENDAR = "calendar"
    DATED_PATH = "dated path"
    FACETS = "facets"
    PAGE_NUMBERS = "page numbers"
    COMBINATIONS = "combinations"
    PARAMETERS = "parameters"


@dataclass(frozen=True, slots=True)
class Template:
    """What a family of addresses has in common."""

    kind: TemplateKind
    key: str
    """Kind, host and shape: addresses of one template have the same."""
    shown: str
    """The shape alone, such as /calendar?month=*."""


def template_of(address: CanonicalUrl) -> Template | None:
    """Return the template of an address, or None where addresses like it need no bound.

    A path alone needs one only where it ends in a date or a page number: there is no telling an
    endless site from a large one by its paths, and what ends in a name is somebody's page.
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
    """Return what kind of choice a query makes, and its shape."""
    pairs = [each.partition("=") for each in query.split("&")]
    names = [name.lower() for name, _, _ in pairs]
    for name, (_, _, value) in zip(names, pairs, strict=True):
        if name in _DATE_NAMES or _DATE_VALUE.fullmatch(value):
            # Which other parameters an address has does not make another calendar of it.
            return TemplateKind.CALENDAR, f"{name}={_WILDCARD}"
    # Each set of facets would be another template, and there are endless sets.
    if len(pairs) > _MOST_COMBINED or any(map(_is_facet, names)):
        return TemplateKind.FACETS, _WILDCARD
    if len(pairs) > _MOST_NAMING:
        return TemplateKind.COMBINATIONS, _WILDCARD
    shape = "&".join(f"{_NUMBERS.sub(_WILDCARD, name)}={_WILDCARD}" for name in names)
    is_page_number = len(names) == 1 and names[0] in _PAGE_NAMES
    return TemplateKind.PAGE_NUMBERS if is_page_number else TemplateKind.PARAMETERS, shape


def _is_facet(name: str) -> bool:
    return name in _FACET_NAMES or name.startswith(_FACET_PREFIXES) or "[" in name or "%5b" in name


def _shape_of(path: str) -> str:
    if not _ANY_DIGIT.search(path):
        return path
    return "/".join(
        _WILDCARD if _COUNTED.fullmatch(segment) else _NUMBERS.sub(_WILDCARD, segment)
        for segment in path.split("/")
    )


TRAP = "trap"

# Numbers repeat in what is no loop, such as /2024/01/01/01.
_SEGMENT_REPEATED = 4
# The same one to four segments three times in a row.
_LOOP = re.compile(r"((?:/[^/]{1,200}){1,4})\1\1(?=/|$)")
_LETTER = re.compile(r"[A-Za-z%]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapLimits:
    """How much of a site's addresses may be of one kind."""

    calendars: int = 50
    """Addresses of one template that differ by the date they ask for."""
    dated_paths: int = 400
    """Paths that end in a date: the archive of a journal, perhaps, rather than a calendar."""
    facets: int = 200
    """Ways to sort, filter and combine one list."""
    page_numbers: int = 1_000
    """Pages of one list."""
    combinations: int = 2_000
    """Addresses of one path with three parameters or more that are no known facets."""
    parameters: int = 10_000
    """Other addresses of one template with a query, as forums and old shops have for each page."""
    path_segments: int = 25
    url_chars: int = 2_000
    query_parameters: int = 12

    def limit_of(self, kind: TemplateKind) -> int:
        """Return how many addresses a template of a kind may have."""
        return {
            TemplateKind.CALENDAR: self.calendars,
            TemplateKind.DATED_PATH: self.dated_paths,
            TemplateKind.FACETS: self.facets,
            TemplateKind.PAGE_NUMBERS: self.page_numbers,
            TemplateKind.COMBINATIONS: self.combinations,
            TemplateKind.PARAMETERS: self.parameters,
        }[kind]


def find_shape_trap(address: CanonicalUrl, bounds: TrapLimits) -> str | None:
    """Return why an address is a trap by its own shape, or None."""
    if len(address.key) > bounds.url_chars:
        return f"{TRAP}: longer than {bounds.url_chars} characters"
    if address.query.count("&") >= bounds.query_parameters:
        return f"{TRAP}: more than {bounds.query_parameters} query parameters"
    slashes = address.path.count("/")
    if slashes > bounds.path_segments:
        return f"{TRAP}: more than {bounds.path_segments} path segments"
    # Shorter paths have nothing three times.
    if slashes >= 3 and _repeats_itself(address.path):
        return f"{TRAP}: the path repeats itself"
    return None


def find_full_template(template: Template, count: int, bounds: TrapLimits) -> str | None:
    """Return why one more address of a template, which has `count`, is too many; or None."""
    limit = bounds.limit_of(template.kind)
    return f"{TRAP}: more than {limit} URLs like {template.shown}" if count >= limit else None


class TrapCounter:
    """Judges the addresses of a crawl as they are found, counting those taken by template."""

    def __init__(self, bounds: TrapLimits, counts: Mapping[str, int] | None = None) -> None:
        self._bounds = bounds
        self.counts = dict(counts or {})
        """How many addresses were taken of each template, by its key: what is to be kept."""

    def judge(self, address: CanonicalUrl) -> str | None:
        """Return why a newly found address is a trap, or None: it is taken, and counted.

        Ask once for each key, and after the scope: what is not taken must not be counted.
        """
        if reason := find_shape_trap(address, self._bounds):
            return reason
        template = template_of(address)
        if template is None:
            return None
        count = self.counts.get(template.key, 0)
        if reason := find_full_template(template, count, self._bounds):
            return reason
        self.counts[template.key] = count + 1
        return None


def _repeats_itself(path: str) -> bool:
    segments = path.split("/")
    if len(set(segments)) == len(segments):
        return False
    loop = _LOOP.search(path)
    if loop is not None and _LETTER.search(loop[1]):
        return True
    repeated = (each for each in set(segments) if segments.count(each) >= _SEGMENT_REPEATED)
    return any(_LETTER.search(each) for each in repeated)
