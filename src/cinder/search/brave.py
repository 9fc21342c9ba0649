"""The Brave Search API, which needs a key."""

import asyncio
from collections.abc import Sequence
from http import HTTPStatus

from cinder.models.http import HttpResponse, is_sendable
from cinder.models.search import SearchHit
from cinder.models.url import origin_of
from cinder.search.base import (
    Period,
    ProviderFailed,
    ProviderQuery,
    QueryLimits,
    SearchHttpClient,
    period_of,
    query_with_operators,
)
from cinder.search.hits import FoundItem, text_at, to_hits, value_at
from cinder.search.provider_server import (
    ACCEPT_JSON,
    ProviderServer,
    parse_base_url,
    with_parameters,
)

BRAVE_URL = "https://api.search.brave.com/res/v1/web/search"

_MAX_COUNT = 20
_MAX_PAGES = 10
_MAX_LIMITS = 5
_MAX_DIGITS = 9
_QUERY_LIMITS = QueryLimits(max_chars=400, max_words=50)
_FRESHNESS = {Period.DAY: "pd", Period.WEEK: "pw", Period.MONTH: "pm", Period.YEAR: "py"}
_KEY = "search.brave-api-key (CINDER_SEARCH__BRAVE_API_KEY)"
_ADVICE = {
    "SUBSCRIPTION_TOKEN_INVALID": f"it does not know the key; check {_KEY}",
    "SUBSCRIPTION_NOT_FOUND": "the key has no subscription; choose a plan in its dashboard",
    "OPTION_NOT_IN_PLAN": "the key's plan has no web search; choose another in its dashboard",
    "RATE_LIMITED": "the plan allows fewer searches a second",
    "QUOTA_LIMITED": "the plan's searches of this month are used up; choose a larger plan in its "
    "dashboard, or name other providers too",
}
_TOO_MANY = HTTPStatus.TOO_MANY_REQUESTS
_REFUSALS = (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)


class BraveProvider:
    """Queries Brave's web search.

    Raises:
        ValueError: the key cannot be sent, or the URL is not valid.
    """

    name = "brave"

    def __init__(self, client: SearchHttpClient, api_key: str, url: str = BRAVE_URL) -> None:
        if not api_key.strip() or not is_sendable(api_key.strip()):
            raise ValueError("search.brave-api-key: A key is ASCII text without line breaks")
        self._url = parse_base_url(url)
        self._headers = {**ACCEPT_JSON, "X-Subscription-Token": api_key.strip()}
        self._server = ProviderServer(
            client=client,
            title="Brave Search",
            address=origin_of(self._url),
            setting="search.brave-url (CINDER_SEARCH__BRAVE_URL)",
        )

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        """Return a page of at most 20 hits; there are ten pages."""
        if query.page >= _MAX_PAGES:
            return ()
        with self._server.wording_query():
            url = self.url_for(query)
        answer = await self._server.get(url, self._headers)
        return await asyncio.to_thread(self._read, answer)

    def url_for(self, query: ProviderQuery) -> str:
        """Return the URL of a query.

        Raises:
            ValueError: the query is too long.
        """
        parameters = {
            "q": query_with_operators(query, _QUERY_LIMITS),
            "count": str(max(1, min(query.count, _MAX_COUNT))),
            "offset": str(query.page),
            "result_filter": "web",
            "text_decorations": "false",
        }
        if period := period_of(query.filters):
            parameters["freshness"] = _FRESHNESS[period]
        return with_parameters(self._url, parameters)

    def _read(self, answer: HttpResponse) -> Sequence[SearchHit]:
        if answer.status >= HTTPStatus.BAD_REQUEST:
            self._raise_error(answer)
        self._server.check(answer)
        # Without results, the response has no `web` at all.
        results = value_at(self._server.read_json(answer), "web.results")
        items = [
            FoundItem(
                url=text_at(result, "url"),
                title=text_at(result, "title"),
                summary=text_at(result, "description"),
                date=text_at(result, "page_age"),
            )
            for result in (results if isinstance(results, list) else [])
        ]
        return to_hits(items, self._url, are_html=True)

    def _raise_error(self, answer: HttpResponse) -> None:
        """Raise the failure that the response describes; return if it describes none."""
        try:
            error = value_at(self._server.read_json(answer), "error")
        except ProviderFailed:
            return
        code = text_at(error, "code")
        meaning = _ADVICE.get(code) or self._server.shown(text_at(error, "detail"))
        if code not in _ADVICE and answer.status in _REFUSALS:
            meaning = f"it refuses the key; check {_KEY}. It says: {meaning}"
        if meaning:
            # The headers have a number for each limit: `X-RateLimit-Remaining: 0, 1500` with
            # `X-RateLimit-Reset: 1, 1419704` allows no request in this second and 1500 this month.
            remaining = _numbers(answer.headers.get("x-ratelimit-remaining", ""))
            resets = _numbers(answer.headers.get("x-ratelimit-reset", ""))
            waits = [reset for left, reset in zip(remaining, resets, strict=False) if not left]
            wait = float(max(waits)) if waits and answer.status == _TOO_MANY else None
            self._server.fail(f"answered {answer.status}: {meaning}", retry_after_seconds=wait)


def _numbers(header: str) -> list[int]:
    parts = (part.strip() for part in header.split(",", _MAX_LIMITS)[:_MAX_LIMITS])
    return [int(part) for part in parts if part.isdecimal() and len(part) <= _MAX_DIGITS]
