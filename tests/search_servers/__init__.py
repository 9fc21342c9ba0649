"""Real search engines on loopback: small, and speaking the wire formats of those they stand for.

`async with serving(SearxngServer(web)) as server` runs one; `server.fail_with(…)` and
`server.stall()` make it answer with trouble, or not at all; `server.asked` has what came.
"""

from tests.search_servers.brave import BraveServer
from tests.search_servers.duckduckgo import DuckDuckGoServer
from tests.search_servers.json_engine import JsonServer
from tests.search_servers.opensearch import OpenSearchServer
from tests.search_servers.searxng import SearxngServer
from tests.search_servers.serving import Asked, Reply, SearchServer, serving
from tests.search_servers.web import NOW, Web, WebPage, some_pages

__all__ = [
    "NOW",
    "Asked",
    "BraveServer",
    "DuckDuckGoServer",
    "JsonServer",
    "OpenSearchServer",
    "Reply",
    "SearchServer",
    "SearxngServer",
    "Web",
    "WebPage",
    "serving",
    "some_pages",
]
