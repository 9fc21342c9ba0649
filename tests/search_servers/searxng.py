"""An engine that answers as a SearXNG instance does (docs.searxng.org/dev/search_api)."""

import json
from collections.abc import Sequence

from tests.search_servers.serving import Asked, Reply, SearchServer
from tests.search_servers.web import Web

PAGE_SIZE = 10
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 365}
_START_PAGE = b"<!DOCTYPE html><title>SearXNG</title><form action=/search><input name=q></form>"
FORBIDDEN = Reply(b"<!doctype html><title>403 Forbidden</title>", "text/html", 403)
LIMITED = Reply(b"Too Many Requests", "text/plain", 429)


class SearxngServer(SearchServer):
    """An instance; without JSON among its formats, as it is installed."""

    def __init__(self, web: Web, *, formats: Sequence[str] = ("html", "json")) -> None:
        super().__init__()
        self.web = web
        self.formats = formats
        self.silent_engines: list[list[str]] = []

    def answer(self, asked: Asked) -> Reply:
        parameters = asked.parameters
        wanted = parameters.get("format", "html")
        if asked.path not in ("/", "/search"):
            return Reply(b"<!doctype html><title>Not found</title>", "text/html", 404)
        if wanted not in self.formats:
            return FORBIDDEN
        if wanted != "json" or asked.path == "/":
            return Reply(_START_PAGE, "text/html; charset=utf-8")
        period, page = parameters.get("time_range"), parameters.get("pageno", "1")
        if not parameters.get("q") or not page.isdecimal() or period not in (None, *_DAYS):
            return Reply(json.dumps({"error": "Invalid value"}).encode(), status=400)
        return self._search(parameters["q"], int(page), period)

    def _search(self, query: str, page: int, period: str | None) -> Reply:
        found = self.web.find(query, max_days=_DAYS[period] if period else None)
        results = [
            {
                "url": one.url,
                "title": one.title,
                "content": one.text,
                "publishedDate": f"{one.published:%Y-%m-%dT%H:%M:%S}" if one.published else None,
                "thumbnail": None,
                "engine": "embers",
                "template": "default.html",
                "parsed_url": ["https", one.host, "/", "", "", ""],
                "engines": ["embers"],
                "positions": [position],
                "score": 1 / position,
                "category": "general",
            }
            for position, one in enumerate(found, start=1)
        ]
        body = {
            "query": query,
            "number_of_results": 0,
            "results": results[(page - 1) * PAGE_SIZE : page * PAGE_SIZE],
            "answers": [],
            "corrections": [],
            "infoboxes": [],
            "suggestions": [],
            "unresponsive_engines": self.silent_engines,
        }
        return Reply(json.dumps(body).encode())
