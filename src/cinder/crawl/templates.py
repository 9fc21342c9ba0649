"""The templates of addresses: what those have in common that a site makes by the same rule."""

import re
from dataclasses import dataclass
from enum import StrEnum

from cinder.crawl.addresses import Address

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


def template_of(address: Address) -> Template | None:
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
