"""Any JSON endpoint: a URL template, and the paths of results in its response."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cinder.models.http import HttpResponse, check_headers
from cinder.models.search import SearchHit
from cinder.search.base import ProviderQuery, SearchHttpClient
from cinder.search.hits import FoundItem, text_at, to_hits, value_at
from cinder.search.provider_server import ACCEPT_JSON, ProviderServer, QueryUrlTemplate

_PAGING = ("page", "offset", "count")


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonMapping:
    """The paths of fields in a response, such as `data.items`."""

    results: str = "results"
    url: str = "url"
    result_url: str | None = None
    """A template with `{url}` for results whose field has only a part of the URL."""
    title: str = "title"
    summary: str = "summary"
    date: str = "date"
    are_html: bool = False
    """Whether titles and summaries are HTML."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonEndpoint:
    """The URL, headers and paging of an endpoint."""

    url: str
    """A template with `{query}`, and optionally `{page}` or `{offset}`, and `{count}`."""
    headers: Mapping[str, str]
    mapping: JsonMapping
    first_page: int = 1
    max_count: int = 20


class JsonEndpointProvider:
    """Queries an endpoint that the settings describe.

    Raises:
        ValueError: its URL or headers cannot be used; the message names the setting.
    """

    def __init__(self, name: str, client: SearchHttpClient, endpoint: JsonEndpoint) -> None:
        self.name = name
        self._endpoint = endpoint
        setting = f"search.endpoints.{name}"
        self._template = _parse_template(f"{setting}.url", endpoint.url, "query", *_PAGING)
        self._result_template: QueryUrlTemplate | None = None
        if (result_url := endpoint.mapping.result_url) is not None:
            self._result_template = _parse_template(f"{setting}.result-url", result_url, "url")
        for problem in check_headers(endpoint.headers):
            raise ValueError(f"{setting}.{problem.field}: {problem.message}")
        names = {name.lower() for name in endpoint.headers}
        defaults = {name: value for name, value in ACCEPT_JSON.items() if name.lower() not in names}
        self._headers = {**defaults, **endpoint.headers}
        self._server = ProviderServer(
            client=client,
            title=f"The search endpoint {name!r}",
            address=self._template.origin,
            setting=setting,
        )

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        """Return a page of hits; without `{page}` or `{offset}` there is one page."""
        if query.page and not self._template.names & {"page", "offset"}:
            return ()
        with self._server.wording_query():
            url = self.url_for(query)
        answer = await self._server.get(url, self._headers)
        self._server.check(answer)
        return await asyncio.to_thread(self._read, answer, url)

    def url_for(self, query: ProviderQuery) -> str:
        """Return the URL of a query.

        Raises:
            ValueError: the query is too long, or not a valid value for this URL.
        """
        count = max(1, min(query.count, self._endpoint.max_count))
        return self._template.fill(
            {
                "query": query.text.strip(),
                "count": str(count),
                "page": str(query.page + self._endpoint.first_page),
                "offset": str(query.page * count),
            }
        )

    def _read(self, answer: HttpResponse, url: str) -> Sequence[SearchHit]:
        mapping = self._endpoint.mapping
        results = value_at(self._server.read_json(answer), mapping.results)
        if not isinstance(results, list):
            self._server.fail(
                f"answered JSON without a list at {mapping.results!r}; "
                f"set search.endpoints.{self.name}.results to where its results are"
            )
        items = (
            FoundItem(
                url=self._result_url(text_at(result, mapping.url)),
                title=text_at(result, mapping.title),
                summary=text_at(result, mapping.summary),
                date=text_at(result, mapping.date),
            )
            for result in results
        )
        hits = to_hits(items, url, are_html=mapping.are_html)
        if results and not hits:
            self._server.fail(
                f"has no web address at {mapping.url!r} of its results; "
                f"set search.endpoints.{self.name}.url-field to where it is"
            )
        return hits

    def _result_url(self, part: str) -> str:
        if not part or self._result_template is None:
            return part
        try:
            return self._result_template.fill({"url": part})
        except ValueError:
            return ""


def _parse_template(setting: str, text: str, needed: str, *others: str) -> QueryUrlTemplate:
    try:
        template = QueryUrlTemplate.parse(text)
    except ValueError as error:
        raise ValueError(f"{setting}: {error}") from error
    if needed not in template.names:
        raise ValueError(f"{setting}: It must have {{{needed}}} in it")
    if unknown := template.names - {needed, *others}:
        listed = ", ".join(sorted(f"{{{name}}}" for name in unknown))
        raise ValueError(f"{setting}: There is no value for {listed}")
    return template
