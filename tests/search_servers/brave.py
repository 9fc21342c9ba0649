"""An engine that answers as the Brave Search API does (its web search, version 1)."""

import json
from typing import Any

from tests.search_servers.serving import Asked, Reply, SearchServer
from tests.search_servers.web import Web, WebPage

PATH = "/res/v1/web/search"
_DAYS = {"pd": 1, "pw": 7, "pm": 31, "py": 365}


def error_reply(status: int, code: str, detail: str, **headers: str) -> Reply:
    """Make an answer that tells of an error, as all of Brave's do."""
    error = {"id": "5d832250", "code": code, "detail": detail, "status": status, "meta": {}}
    body = {"type": "ErrorResponse", "error": error, "time": 1_663_072_993}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(json.dumps(body).encode(), status=status, headers=named)


RATE_LIMITED = error_reply(
    429,
    "RATE_LIMITED",
    "Request rate limit exceeded for plan.",
    X_RateLimit_Remaining="0, 1500",
    X_RateLimit_Reset="1, 1419704",
)
QUOTA_LIMITED = error_reply(
    429,
    "QUOTA_LIMITED",
    "Request quota limit exceeded for plan.",
    X_RateLimit_Remaining="0, 0",
    X_RateLimit_Reset="1, 86400",
)


class BraveServer(SearchServer):
    """Brave's web search, for one key."""

    def __init__(self, web: Web, key: str) -> None:
        super().__init__()
        self.web = web
        self._key = key

    @property
    def api_url(self) -> str:
        return f"{self.url}{PATH}"

    def answer(self, asked: Asked) -> Reply:
        if asked.path != PATH:
            return error_reply(404, "NOT_FOUND", "No such resource.")
        if asked.headers.get("x-subscription-token") != self._key:
            detail = "The provided subscription token is invalid."
            return error_reply(422, "SUBSCRIPTION_TOKEN_INVALID", detail)
        parameters = asked.parameters
        query, freshness = parameters.get("q", ""), parameters.get("freshness")
        count, offset = int(parameters.get("count", 20)), int(parameters.get("offset", 0))
        is_valid = 0 < count <= 20 and 0 <= offset <= 9 and 0 < len(query) <= 400
        if not is_valid or len(query.split()) > 50 or freshness not in (None, *_DAYS):
            detail = "Unable to validate request parameter(s)"
            return error_reply(422, "VALIDATION", detail)
        found = self.web.find(query, max_days=_DAYS[freshness] if freshness else None)
        shown = found[offset * count : (offset + 1) * count]
        return Reply(json.dumps(self._body(query, shown, len(found))).encode())

    def _body(self, query: str, shown: list[WebPage], total: int) -> dict[str, Any]:  # Any: JSON
        body: dict[str, Any] = {
            "type": "search",
            "query": {"original": query, "more_results_available": total > len(shown)},
        }
        if shown:
            body["web"] = {"type": "search", "results": [self._result(page) for page in shown]}
        return body

    def _result(self, page: WebPage) -> dict[str, Any]:
        result: dict[str, Any] = {
            "type": "search_result",
            "title": page.title,
            # Its texts are HTML, in which quotation marks are escaped too.
            "description": page.text.replace("&", "&amp;").replace("<", "&lt;"),
            "url": page.url,
            "language": "en",
            "family_friendly": True,
        }
        if page.published:
            result |= {
                "age": f"{page.published:%B %d, %Y}",
                "page_age": f"{page.published:%Y-%m-%dT%H:%M:%S}",
            }
        return result
