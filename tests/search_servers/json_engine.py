"""An engine with a JSON format of its own, behind a token."""

import json

from tests.search_servers.serving import Asked, Reply, SearchServer
from tests.search_servers.web import Web

TOKEN = "a token of the tests"


class JsonServer(SearchServer):
    """An engine such as a company may have for its own pages."""

    def __init__(self, web: Web) -> None:
        super().__init__()
        self.web = web

    def answer(self, asked: Asked) -> Reply:
        parameters = asked.parameters
        if asked.headers.get("x-token") != TOKEN:
            return Reply(b'{"message": "no"}', status=401)
        found = self.web.find(parameters.get("words", ""))
        start, size = int(parameters.get("from", 0)), int(parameters.get("size", 10))
        results = [
            {
                "link": {"href": page.url},
                "name": f"<em>{page.title}</em>",
                "excerpt": page.text.replace("&", "&amp;").replace("<", "&lt;"),
                "changed": page.published.timestamp() if page.published else None,
            }
            for page in found[start : start + size]
        ]
        return Reply(json.dumps({"data": {"hits": results}}).encode())
