"""The endless parts of the website: a calendar, filters that combine, and paths that repeat."""

from urllib.parse import parse_qsl, urlencode

from tests.crawled_site.outline import CALENDAR, MAZE, SHOP

FILTERS = {
    "colour": ("amber", "black", "copper", "green", "red", "white"),
    "material": ("brick", "cast", "clay", "slate"),
    "order": ("name", "newest", "price"),
    "size": ("l", "m", "s", "xl", "xs"),
}
_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
)


def trap_of(target: str) -> str | None:
    """Return the page behind which a target lies in a trap, or nothing when it lies in none."""
    path, _, query = target.partition("?")
    if path.startswith("/calendar/") and target != CALENDAR and _month(path):
        return CALENDAR
    if path == SHOP and query and all(name in FILTERS for name, _ in parse_qsl(query)):
        return SHOP
    if path.startswith(MAZE) and path != MAZE and set(path.removeprefix(MAZE)) <= set("ab/"):
        return MAZE
    return None


def links_within(target: str) -> list[str]:
    """Return where a page of a trap, its first included, leads farther in."""
    path, _, query = target.partition("?")
    if path.startswith("/calendar/"):
        return _neighbour_months(path)
    if path == SHOP:
        return _narrower_filters(query)
    if path.startswith(MAZE):
        return ["b/" if path.endswith("/a/") else "a/"]
    return []


def month_named(target: str) -> str:
    """Return the month of a page of the calendar in words."""
    month = _month(target)
    return f"{_MONTHS[month % 12]} {month // 12}" if month else ""


def _month(path: str) -> int:
    """Return a count of months, or 0 where a path is none of the calendar's."""
    year, _, month = path.removeprefix("/calendar/").partition("/")
    if not (year.isdecimal() and month.isdecimal() and 1 <= int(month) <= len(_MONTHS)):
        return 0
    return int(year) * 12 + int(month) - 1


def _neighbour_months(path: str) -> list[str]:
    month = _month(path)
    return [f"/calendar/{each // 12}/{each % 12 + 1}" for each in (month + 1, month - 1)]


def _narrower_filters(query: str) -> list[str]:
    chosen = dict(parse_qsl(query))
    # A choice made is offered again, so that every such page has the same words.
    return [
        f"{SHOP}?{urlencode(sorted({**chosen, name: value}.items()))}"
        for name, values in FILTERS.items()
        for value in values
    ]
