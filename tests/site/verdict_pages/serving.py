"""Answers with the pages to be judged."""

from collections.abc import AsyncIterator

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse

from tests.site.verdict_pages.reading import VerdictPage, read_pages


def answer_verdict_page(request: Request) -> Response | None:
    """Return the answer to who asks for one of the pages; None to who asks for something else."""
    address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    for page in read_pages():
        if address == page.asked and page.lands is not None:
            return RedirectResponse(page.lands)
        if address in (page.asked, page.lands):
            return _answer(page)
    return None


def _answer(page: VerdictPage) -> Response:
    headers = {"content-type": "text/html; charset=utf-8", **dict(page.headers)}
    if not page.missing_bytes:
        return Response(page.body, page.status, headers)

    async def body() -> AsyncIterator[bytes]:
        yield page.body

    headers["content-length"] = str(len(page.body) + page.missing_bytes)
    return StreamingResponse(body(), page.status, headers)
