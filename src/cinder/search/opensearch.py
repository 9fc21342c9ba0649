"""Any search engine with an OpenSearch description that responds with a feed."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from cinder.models.http import HttpResponse
from cinder.models.search import SearchHit
from cinder.models.url import origin_of, parse_web_url
from cinder.search.base import ProviderQuery, SearchHttpClient
from cinder.search.hits import FoundItem, to_hits
from cinder.search.provider_server import USER_AGENT, ProviderServer, QueryUrlTemplate
from cinder.xml_tree import UnreadableXml, XmlNode, parse_xml

FeedReader = Callable[[bytes, str], Iterable[FoundItem]]
"""Parses a feed (RSS, Atom, JSON Feed) by its bytes and content type, or raises ValueError."""

_DESCRIPTION_LASTS_SECONDS = 3600
_MAX_URLS = 50
_MAX_COUNT = 50
_KNOWN = frozenset(
    {
        *("searchTerms", "count", "startIndex", "startPage"),
        *("language", "inputEncoding", "outputEncoding"),
    }
)
# The most informative types come first; suggestions are not results.
_FEED_TYPES = (
    "application/atom+xml",
    "application/rss+xml",
    "application/feed+json",
    "application/json",
    "text/xml",
    "application/xml",
)
_ACCEPT_DESCRIPTION = {
    "User-Agent": USER_AGENT,
    "Accept": "application/opensearchdescription+xml, application/xml;q=0.9, */*;q=0.1",
}


@dataclass(frozen=True, slots=True)
class SearchUrl:
    """A URL of a description that returns results."""

    template: QueryUrlTemplate
    media_type: str
    first_index: int
    first_page: int

    @property
    def has_pages(self) -> bool:
        """Whether it supports paging."""
        return bool(_plain(self.template.names) & {"startIndex", "startPage"})

    def fill(self, query: ProviderQuery) -> str:
        """Return the URL of a query.

        Raises:
            ValueError: the query is too long, or not a valid value for this URL.
        """
        count = max(1, min(query.count, _MAX_COUNT))
        values = {
            "searchTerms": query.text.strip(),
            "count": str(count),
            "startIndex": str(self.first_index + query.page * count),
            "startPage": str(self.first_page + query.page),
            "language": "*",
            "inputEncoding": "UTF-8",
            "outputEncoding": "UTF-8",
        }
        # Names that end in ? are optional.
        return self.template.fill(
            {name: values.get(name.removesuffix("?"), "") for name in self.template.names}
        )


class OpenSearchProvider:
    """Queries an engine by its OpenSearch description.

    Raises:
        ValueError: the description's URL is not valid.
    """

    def __init__(
        self, name: str, client: SearchHttpClient, description_url: str, read_feed: FeedReader
    ) -> None:
        self.name = name
        self._description_url = parse_web_url(description_url)
        self._read_feed = read_feed
        self._described: SearchUrl | None = None
        self._described_at = 0.0
        self._reading = asyncio.Lock()
        self._server = ProviderServer(
            client=client,
            title=f"The search engine {name!r}",
            address=origin_of(self._description_url),
            setting=f"search.endpoints.{name}.description-url",
        )

    async def search(self, query: ProviderQuery) -> Sequence[SearchHit]:
        """Return a page of hits."""
        loop = asyncio.get_running_loop()
        async with self._reading:
            age = loop.time() - self._described_at
            if self._described is None or age > _DESCRIPTION_LASTS_SECONDS:
                answer = await self._server.get(self._description_url, _ACCEPT_DESCRIPTION)
                self._server.check(answer)
                self._described = await asyncio.to_thread(self._read_description, answer.body)
                self._described_at = loop.time()
            described = self._described
        if query.page and not described.has_pages:
            return ()
        with self._server.wording_query():
            url = described.fill(query)
        answer = await self._server.get(
            url, {"User-Agent": USER_AGENT, "Accept": described.media_type}
        )
        self._server.check(answer)
        return await asyncio.to_thread(self._read, answer, url)

    def _read_description(self, body: bytes) -> SearchUrl:
        encoding = "utf-16" if body.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
        try:
            root = parse_xml(body.decode(encoding, "replace"))
        except UnreadableXml as error:
            self._server.fail(
                f"has a description that cannot be read: {error}; check {self._server.setting}"
            )
        chosen = choose_url(root, self._description_url)
        if chosen is None:
            self._server.fail(
                "describes no URL that answers with RSS, Atom or JSON Feed; if it answers other "
                f"JSON, set search.endpoints.{self.name}.url and where that has what"
            )
        return chosen

    def _read(self, answer: HttpResponse, url: str) -> Sequence[SearchHit]:
        try:
            items = self._read_feed(answer.body, answer.headers.get("content-type", ""))
        except ValueError as error:
            self._server.fail(
                f"did not answer with a feed: {error}; if it answers other JSON, set "
                f"search.endpoints.{self.name}.url and where that has what"
            )
        return to_hits(items, url, are_html=True)


def choose_url(root: XmlNode, base: str) -> SearchUrl | None:
    """Return the best search URL of a description; None if none returns a feed."""
    nodes = [node for node in root.children if node.name == "url"][:_MAX_URLS]
    found = [url for node in nodes if (url := _read_url(node, base)) is not None]
    return min(found, key=lambda url: _FEED_TYPES.index(url.media_type), default=None)


def _read_url(node: XmlNode, base: str) -> SearchUrl | None:
    attributes = node.attributes
    media_type = attributes.get("type", "").partition(";")[0].strip().lower()
    is_asked_by_get = attributes.get("method", "get").lower() == "get"
    has_results = "results" in attributes.get("rel", "results").split()
    if media_type not in _FEED_TYPES or not (is_asked_by_get and has_results):
        return None
    text = attributes.get("template", "")
    try:
        template = QueryUrlTemplate.parse(f"{origin_of(base)}{text}" if text[:1] == "/" else text)
    except ValueError:
        return None
    needed = {name for name in template.names if not name.endswith("?")}
    if "searchTerms" not in _plain(template.names) or not needed <= _KNOWN:
        return None
    return SearchUrl(
        template,
        media_type,
        first_index=_number(attributes.get("indexoffset", "")),
        first_page=_number(attributes.get("pageoffset", "")),
    )


def _plain(names: Iterable[str]) -> set[str]:
    return {name.removesuffix("?") for name in names}


def _number(text: str) -> int:
    return int(text) if text.isdecimal() and len(text) < 9 else 1
