"""Bounds on spaces of addresses that have no end: calendars, facets, loops in paths.

What has a page for every address must pass, however large the site: `/product/123` and
`/2024/05/title` are never counted, and `/viewtopic.php?t=123` is counted, but up to a number that
only machines reach. Counted with small bounds is what a site can make more of without having
more to say: the days of a calendar, and the ways to sort and filter a list.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cinder.crawl.addresses import Address
from cinder.crawl.templates import Template, TemplateKind, template_of

TRAP = "trap"

# Numbers repeat in what is no loop, such as /2024/01/01/01.
_SEGMENT_REPEATED = 4
# The same one to four segments three times in a row.
_LOOP = re.compile(r"((?:/[^/]{1,200}){1,4})\1\1(?=/|$)")
_LETTER = re.compile(r"[A-Za-z%]")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapBounds:
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


def find_shape_trap(address: Address, bounds: TrapBounds) -> str | None:
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


def find_full_template(template: Template, count: int, bounds: TrapBounds) -> str | None:
    """Return why one more address of a template, which has `count`, is too many; or None."""
    limit = bounds.limit_of(template.kind)
    return f"{TRAP}: more than {limit} URLs like {template.shown}" if count >= limit else None


class TrapCounter:
    """Judges the addresses of a crawl as they are found, counting those taken by template."""

    def __init__(self, bounds: TrapBounds, counts: Mapping[str, int] | None = None) -> None:
        self._bounds = bounds
        self.counts = dict(counts or {})
        """How many addresses were taken of each template, by its key: what is to be kept."""

    def judge(self, address: Address) -> str | None:
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
