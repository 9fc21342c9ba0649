"""An engine that describes itself by OpenSearch 1.1 and answers with RSS, Atom or JSON Feed."""

import json
from email.utils import format_datetime
from html import escape

from tests.search_servers.serving import Asked, Reply, SearchServer
from tests.search_servers.web import Web, WebPage

DESCRIPTION_PATH = "/opensearch.xml"
RSS, ATOM, JSON = "application/rss+xml", "application/atom+xml", "application/json"
_PARAMETERS = "q={searchTerms}&amp;start={startIndex?}&amp;n={count?}&amp;lang={language?}"
_SUGGESTIONS = (
    '<Url type="application/x-suggestions+json" rel="suggestions" '
    'template="https://suggest.example/?q={searchTerms}"/>'
)


class OpenSearchServer(SearchServer):
    """An engine that offers its results in these media types."""

    def __init__(self, web: Web, *media_types: str) -> None:
        super().__init__()
        self.web = web
        self._media_types = media_types or (RSS,)

    @property
    def description_url(self) -> str:
        return f"{self.url}{DESCRIPTION_PATH}"

    def answer(self, asked: Asked) -> Reply:
        if asked.path == DESCRIPTION_PATH:
            return Reply(self._describe().encode(), "application/opensearchdescription+xml")
        parameters = asked.parameters
        found = self.web.find(parameters.get("q", ""))
        start = int(parameters.get("start") or 1) - 1
        shown = found[start : start + int(parameters.get("n") or 10)]
        media_type = f"application/{asked.path.removeprefix('/find.').replace('.', '+')}"
        write = {RSS: _rss, ATOM: _atom, JSON: _json_feed}[media_type]
        return Reply(write(shown).encode(), media_type)

    def _describe(self) -> str:
        urls = "".join(
            f'<Url type="{media_type}" '
            f'template="{self.url}/find.{_ending(media_type)}?{_PARAMETERS}"/>'
            for media_type in self._media_types
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?>'
            '<OpenSearchDescription xmlns="http://a9.com/-/spec/opensearch/1.1/">'
            "<ShortName>Embers</ShortName><Description>Finds embers.</Description>"
            f'<Url type="text/html" template="{self.url}/?q={{searchTerms}}"/>{_SUGGESTIONS}{urls}'
            "</OpenSearchDescription>"
        )


def _ending(media_type: str) -> str:
    return media_type.removeprefix("application/").replace("+", ".")


def _rss(pages: list[WebPage]) -> str:
    items = "".join(
        f"<item><title>{escape(page.title)}</title><link>{escape(page.url)}</link>"
        f"<description>{escape(escape(page.text))}</description>"
        + (f"<pubDate>{format_datetime(page.published)}</pubDate>" if page.published else "")
        + "</item>"
        for page in pages
    )
    channel = f"<channel><title>Found</title>{items}</channel>"
    return f'<?xml version="1.0"?><rss version="2.0">{channel}</rss>'


def _atom(pages: list[WebPage]) -> str:
    entries = "".join(
        f'<entry><title>{escape(page.title)}</title><link href="{escape(page.url)}"/>'
        f"<summary>{escape(page.text)}</summary>"
        + (f"<updated>{page.published.isoformat()}</updated>" if page.published else "")
        + "</entry>"
        for page in pages
    )
    return f'<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom">{entries}</feed>'


def _json_feed(pages: list[WebPage]) -> str:
    items = [
        {
            "id": page.url,
            "url": page.url,
            "title": page.title,
            "content_text": page.text,
            "date_published": page.published.isoformat() if page.published else None,
        }
        for page in pages
    ]
    return json.dumps({"version": "https://jsonfeed.org/version/1.1", "items": items})
