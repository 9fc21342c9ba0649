"""The JSON API of a SearXNG instance."""

import asyncio
from collections.abc import Sequence

from cinder.models.http import HttpResponse
from cinder.models.search import SearchHit
from cinder.models.url import origin_of
from cinder.search.base import (
    ProviderQuery,
    QueryLimits,
    SearchHttpClient,
    period_of,
    query_with_operators,
)
from cinder.search.hits import FoundItem, number_at, text_at, to_hits, value_at
from cinder.search.provider_server import (
    ACCEPT_JSON,
    ProviderServer,
    parse_base_url,
    with_parameters,
)

_QUERY_LIMITS = QueryLimits(max_chars=2_000)
_MAX_ENGINES_SHOWN = 5
_FORMAT_IS_OFF = "add `json` to `search.formats` in its settings.yml and restart it"
_ADVICE = {
    400: "it does not understand the query",
    403: f"its JSON format is off; {_FORMAT_IS_OFF}",
    404: "there is no SearXNG; search.searxng-url (CINDER_SEARCH__SEARXNG_URL) must be the address "
    "of its start page",
    429: "its limiter takes cinder for a bot; let cinder's address pass in its limiter.toml "
    "(`botdetection.ip_lists.pass_ip`), or set `server.limiter: false` in its settings.yml",
}


class SearxngProvider:
    """Queries a SearXNG instance.

    Raises:
        ValueError: `base_url`, the URL of its start page, is not valid.
    """

    name = "searxng"

    def __init__(self, client: SearchHttpClient, base_url: str) -> None:
        self._base_url = parse_base_url(base_url).rstrip("/")
        self._server = ProviderServer(
            client=client,
            title="SearXNG",
            address=origin_of(self._base_url),
            setting="search.searxng-url (CINDER_SEARCH__SEARXNG_URL)",
            advice=_ADVICE,
        )

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        """Return a page of hits, whose number the instance's settings define."""
        with self._server.wording_query():
            url = self.url_for(query)
        answer = await self._server.get(url, ACCEPT_JSON)
        self._server.check(answer)
        if "html" in answer.headers.get("content-type", ""):
            self._server.fail(f"answered a page instead of JSON; {_FORMAT_IS_OFF}")
        return await asyncio.to_thread(self._read, answer)

    def url_for(self, query: ProviderQuery) -> str:
        """Return the URL of a query.

        Raises:
            ValueError: the query is too long.
        """
        parameters = {
            "q": query_with_operators(query, _QUERY_LIMITS),
            "format": "json",
            "pageno": str(query.page + 1),
        }
        if period := period_of(query.filters):
            parameters["time_range"] = period
        return with_parameters(f"{self._base_url}/search", parameters)

    def _read(self, answer: HttpResponse) -> Sequence[SearchHit]:
        data = self._server.read_json(answer)
        results = value_at(data, "results")
        if not isinstance(results, list):
            self._server.fail(
                "answered JSON that is not SearXNG's; check search.searxng-url "
                "(CINDER_SEARCH__SEARXNG_URL)"
            )
        listed = value_at(data, "unresponsive_engines")
        pairs = listed[:_MAX_ENGINES_SHOWN] if isinstance(listed, list) else []
        named = [(text_at(pair, "0"), text_at(pair, "1")) for pair in pairs]
        engines = [f"{name} ({reason})" if reason else name for name, reason in named if name]
        silent = ", ".join(map(self._server.shown, engines))
        if not results and silent:
            self._server.fail(
                f"found nothing, for its engines did not answer: {silent}. Switch others on in its "
                "settings.yml, or try again later"
            )
        items = (
            FoundItem(
                url=text_at(result, "url"),
                title=text_at(result, "title"),
                summary=text_at(result, "content"),
                date=text_at(result, "publishedDate"),
                score=number_at(result, "score"),
            )
            for result in results
        )
        return to_hits(items, self._base_url, are_html=False)
