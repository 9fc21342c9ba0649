"""DuckDuckGo's HTML page for browsers without scripts: a last resort that needs no key.

It is made for people, so requests are slow, pause after a refusal, and read result pages in order.
"""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Never
from urllib.parse import parse_qs, urlsplit

from selectolax.lexbor import LexborHTMLParser

from cinder.models.search import SearchHit
from cinder.models.url import origin_of
from cinder.search.base import (
    Period,
    ProviderQuery,
    QueryLimits,
    SearchHttpClient,
    period_of,
    query_with_operators,
)
from cinder.search.hits import FoundItem, to_hits
from cinder.search.provider_server import ProviderServer, encode_form, parse_base_url
from cinder.search.provider_throttle import (
    ProviderThrottle,
    ProviderThrottled,
    SharedProviderThrottle,
)

_MAX_RESULTS = 100
_MAX_FIELDS = 30
_MAX_VALUE_CHARS = 500
_OWN_HOST = "duckduckgo.com"
# The fields of the form for the next page, besides the query.
_NEXT_FIELDS = frozenset({"s", "nextParams", "v", "o", "dc", "api", "vqd", "kl", "df"})


class PageKind(Enum):
    """The kind of a response."""

    RESULTS = auto()
    CHALLENGE = auto()
    """A puzzle for suspected bots."""
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultPage:
    """A parsed page of results."""

    kind: PageKind
    items: tuple[FoundItem, ...] = ()
    next_fields: tuple[tuple[str, str], ...] = ()
    """The form of the next page; empty if there is none."""


def read_page(body: bytes) -> ResultPage:
    """Parse a page of results, without ads."""
    tree = LexborHTMLParser(body)
    if tree.css_first("#challenge-form, [class*=anomaly-modal]") is not None:
        return ResultPage(kind=PageKind.CHALLENGE)
    items = []
    for result in tree.css(".result")[:_MAX_RESULTS]:
        link = result.css_first("a.result__a")
        classes = (result.attributes.get("class") or "").split()
        if link is None or "result--ad" in classes or "result--no-result" in classes:
            continue
        if url := _target_of(link.attributes.get("href") or ""):
            snippet = result.css_first(".result__snippet")
            summary = snippet.text() if snippet is not None else ""
            items.append(FoundItem(url=url, title=link.text(), summary=summary))
    if not items and tree.css_first(".no-results, #links") is None:
        return ResultPage(kind=PageKind.UNKNOWN)
    form = tree.css_first("form input[name=vqd]")
    while form is not None and form.tag != "form":
        form = form.parent
    inputs = form.css("input")[:_MAX_FIELDS] if form is not None else []
    pairs = [(it.attributes.get("name") or "", it.attributes.get("value") or "") for it in inputs]
    fields = tuple(p for p in pairs if p[0] in _NEXT_FIELDS and len(p[1]) <= _MAX_VALUE_CHARS)
    return ResultPage(kind=PageKind.RESULTS, items=tuple(items), next_fields=fields)


def _target_of(href: str) -> str | None:
    """Return the target of a result's link, without DuckDuckGo's redirect; None for an ad."""
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


DUCKDUCKGO_URL = "https://html.duckduckgo.com/html/"

_QUERY_LIMITS = QueryLimits(max_chars=499)
_MAX_PAGES = 10
_MAX_REMEMBERED = 200
_REMEMBERED_SECONDS = 3600
_PERIODS = {Period.DAY: "d", Period.WEEK: "w", Period.MONTH: "m", Period.YEAR: "y"}
_REFUSALS = frozenset({202, 403, 418, 429})
# A word such as !g, and a query that starts with a backslash, redirect to other sites.
_BANG = re.compile(r"(?<!\S)[!\\]+|!+(?!\S)")
_OTHERS = "name another provider in search.providers (CINDER_SEARCH__PROVIDERS)"

Fields = tuple[tuple[str, str], ...]


class DuckDuckGoProvider:
    """Queries DuckDuckGo as a browser without scripts does.

    Raises:
        ValueError: the URL is not valid.
    """

    name = "duckduckgo"

    def __init__(
        self,
        client: SearchHttpClient,
        throttle: ProviderThrottle | SharedProviderThrottle,
        url: str = DUCKDUCKGO_URL,
    ) -> None:
        self._url = parse_base_url(url)
        self._throttle = throttle
        self._next: OrderedDict[tuple[Fields, int], tuple[Fields, float]] = OrderedDict()
        self._headers = {
            "Content-Type": "application/x-www-form-urlencoded",
            "Referer": f"{origin_of(self._url)}/",
            "Origin": origin_of(self._url),
            # As a form on its own page is sent.
            "Sec-Fetch-Site": "same-origin",
        }
        self._server = ProviderServer(
            client=client,
            title="DuckDuckGo",
            address=origin_of(self._url),
            setting="search.duckduckgo-url (CINDER_SEARCH__DUCKDUCKGO_URL)",
        )

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        """Return a page of hits.

        Each page has the form of the next one, so that earlier pages are requested first unless
        they were recently.
        """
        if query.page >= _MAX_PAGES:
            return ()
        with self._server.wording_query():
            first = self.first_fields(query)
        # Start at the last page up to this one whose form is known.
        oldest = asyncio.get_running_loop().time() - _REMEMBERED_SECONDS
        start, fields = 0, first
        for known in range(query.page, 0, -1):
            kept = self._next.get((first, known))
            if kept is not None and kept[1] > oldest:
                start, fields = known, kept[0]
                break
        page = None
        for number in range(start, query.page + 1):
            if not fields:
                return ()
            page = await self._request(fields)
            fields = (first[0], *page.next_fields) if page.next_fields else ()
            self._next[first, number + 1] = fields, asyncio.get_running_loop().time()
            self._next.move_to_end((first, number + 1))
            if len(self._next) > _MAX_REMEMBERED:
                self._next.popitem(last=False)
        return to_hits(page.items, self._url, are_html=False) if page is not None else ()

    def first_fields(self, query: ProviderQuery) -> Fields:
        """Return the form of a query's first page.

        Raises:
            ValueError: the query is too long, or consists of marks that redirect to other sites.
        """
        text = _BANG.sub("", query.text).strip()
        if not text:
            raise ValueError("nothing is left of it without ! and \\, which lead to other sites")
        fields = {
            "q": query_with_operators(replace(query, text=text), _QUERY_LIMITS),
            "b": "",
            "kl": "wt-wt",
        }
        if period := period_of(query.filters):
            fields["df"] = _PERIODS[period]
        return tuple(fields.items())

    async def _request(self, fields: Fields) -> ResultPage:
        loop = asyncio.get_running_loop()
        try:
            await asyncio.sleep(self._throttle.take_turn(loop.time()))
            self._throttle.check_rest(loop.time())
        except ProviderThrottled as error:
            self._server.fail(
                f"is not asked: {error}; {_OTHERS}", retry_after_seconds=error.seconds
            )
        answer = await self._server.post(self._url, encode_form(dict(fields)), self._headers)
        if answer.status in _REFUSALS:
            self._rest(f"answered {answer.status}: it takes cinder for a machine")
        if 300 <= answer.status < 400:
            self._server.fail("sends this query to another site; word it otherwise")
        self._server.check(answer)
        page = await asyncio.to_thread(read_page, answer.body)
        if page.kind is PageKind.CHALLENGE:
            self._rest("wants a puzzle solved: it takes cinder for a machine")
        if page.kind is PageKind.UNKNOWN:
            self._server.fail(f"answered a page that cinder cannot read; {_OTHERS}")
        self._throttle.note_answer()
        return page

    def _rest(self, sentence: str) -> Never:
        seconds = self._throttle.note_refusal(asyncio.get_running_loop().time())
        self._server.fail(f"{sentence}; {_OTHERS}", retry_after_seconds=seconds)
