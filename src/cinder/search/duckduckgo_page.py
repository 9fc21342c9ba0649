"""A page of DuckDuckGo's HTML: its results, and the form that leads to the next."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from urllib.parse import parse_qs, urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from cinder.search.hits import FoundItem

_MAX_RESULTS = 100
_MAX_FIELDS = 30
_MAX_VALUE_CHARS = 500
_OWN_HOST = "duckduckgo.com"
# What the form for the next page sends beside the query.
_NEXT_FIELDS = frozenset({"s", "nextParams", "v", "o", "dc", "api", "vqd", "kl", "df"})


class PageKind(Enum):
    """What DuckDuckGo answered."""

    RESULTS = auto()
    CHALLENGE = auto()
    """It takes us for a machine, and wants a puzzle solved."""
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """A page, read."""

    kind: PageKind
    items: tuple[FoundItem, ...] = ()
    next_fields: tuple[tuple[str, str], ...] = ()
    """What to send for the next page; empty where there is none."""


def read_page(body: bytes) -> ResultPage:
    """Read a page of results, without ads."""
    tree = LexborHTMLParser(body)
    if tree.css_first("#challenge-form, [class*=anomaly-modal]") is not None:
        return ResultPage(kind=PageKind.CHALLENGE)
    items = tuple(_items(tree))
    if not items and tree.css_first(".no-results, #links") is None:
        return ResultPage(kind=PageKind.UNKNOWN)
    return ResultPage(kind=PageKind.RESULTS, items=items, next_fields=_next_fields(tree))


def _items(tree: LexborHTMLParser) -> Iterator[FoundItem]:
    for result in tree.css(".result")[:_MAX_RESULTS]:
        link = result.css_first("a.result__a")
        classes = (result.attributes.get("class") or "").split()
        if link is None or "result--ad" in classes or "result--no-result" in classes:
            continue
        if url := _unwrapped(link.attributes.get("href") or ""):
            snippet = result.css_first(".result__snippet")
            yield FoundItem(
                url=url,
                title=link.text(),
                summary=snippet.text() if snippet is not None else "",
            )


def _unwrapped(href: str) -> str | None:
    """Return where a result leads, without DuckDuckGo in between; None for an ad."""
    try:
        parts = urlsplit(href)
        host = parts.hostname or _OWN_HOST
    except ValueError:
        return None
    if host != _OWN_HOST and not host.endswith(f".{_OWN_HOST}"):
        return href
    if not parts.path.startswith("/l/"):
        return None
    return next(iter(parse_qs(parts.query, max_num_fields=_MAX_FIELDS).get("uddg", [])), None)


def _next_fields(tree: LexborHTMLParser) -> tuple[tuple[str, str], ...]:
    token = tree.css_first("form input[name=vqd]")
    form = token
    while form is not None and form.tag != "form":
        form = form.parent
    return tuple(_fields(form)) if form is not None else ()


def _fields(form: LexborNode) -> Iterator[tuple[str, str]]:
    for field in form.css("input")[:_MAX_FIELDS]:
        name, value = field.attributes.get("name") or "", field.attributes.get("value") or ""
        if name in _NEXT_FIELDS and len(value) <= _MAX_VALUE_CHARS:
            yield name, value
