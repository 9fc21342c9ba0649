"""Visits of pages, and the detection of hidden text in a browser."""

import asyncio
import gzip
from dataclasses import replace
from typing import Any

import pytest

from cinder.errors import ContentTooLarge, EgressBlocked, ScrapeFailed, ScrapeTimeout
from cinder.fetch.base import FileFound
from cinder.models.document import FetchedPage, FetchSource
from cinder.models.request import Action, ActionType, Format
from tests.browser.conftest import Visitor, in_browser
from tests.site import Site


def with_settings(visitor: Visitor, **changes: Any) -> Visitor:
    """Return a visitor with other settings for visits. Any: their values."""
    parts = visitor.parts
    return replace(visitor, parts=replace(parts, visit=replace(parts.visit, **changes)))


@in_browser
async def test_a_page_is_read_as_its_scripts_left_it(visitor: Visitor, website: Site) -> None:
    page = await visitor.visit("/one-alert")
    assert replace(page, headers={}) == FetchedPage(
        url=website.url("/one-alert"),
        final_url=website.url("/one-alert"),
        status_code=200,
        headers={},
        body=b"<html><head><title>Alert</title></head><body><p>Before</p><script>alert('once');"
        b"document.write('<p>After the alert</p>')</script><p>After the alert</p></body></html>",
        source=FetchSource.BROWSER,
        strategy="browser",
    )
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "content-length" not in page.headers


@in_browser
async def test_redirects_are_followed(visitor: Visitor, website: Site) -> None:
    page = await visitor.visit("/redirect?to=/redirect%3Fto=/article")
    assert (page.url, page.final_url, page.status_code) == (
        website.url("/redirect?to=/redirect%3Fto=/article"),
        website.url("/article"),
        200,
    )


@in_browser
@pytest.mark.parametrize("code", [404, 503])
async def test_an_error_page_is_a_page_with_its_status(visitor: Visitor, code: int) -> None:
    page = await visitor.visit(f"/status?code={code}")
    assert page.status_code == code
    assert b"<p>Sorry</p>" in page.body


@in_browser
@pytest.mark.parametrize("code", [204, 404, 500])
async def test_an_answer_without_a_body_is_an_empty_page(visitor: Visitor, code: int) -> None:
    page = await visitor.visit(f"/bodiless?code={code}")
    assert (page.status_code, page.body) == (code, b"")
    assert page.final_url == visitor.site.url(f"/bodiless?code={code}")


@in_browser
@pytest.mark.parametrize(
    ("path", "content_type", "body"),
    [
        ("/data", "application/json; charset=utf-8", '{"embers":[1,2,3]}'),
        (
            "/feed",
            "application/xml; charset=utf-8",
            '<?xml version="1.0"?><feed><entry>Embers</entry></feed>',
        ),
        ("/latin-text", "text/plain; charset=utf-8", "Grüße aus der Küche"),
    ],
)
async def test_what_is_not_html_keeps_its_text(
    visitor: Visitor, path: str, content_type: str, body: str
) -> None:
    page = await visitor.visit(path)
    assert (page.headers["content-type"], page.body.decode()) == (content_type, body)


@in_browser
async def test_html_in_another_encoding_is_read_as_text(visitor: Visitor) -> None:
    page = await visitor.visit("/latin")
    assert "Grüße aus der Küche" in page.body.decode()


@in_browser
@pytest.mark.parametrize("path", ["/image", "/paper", "/attachment", "/download", "/archive"])
async def test_a_file_is_left_to_who_takes_files(visitor: Visitor, path: str) -> None:
    with pytest.raises(FileFound) as found:
        await visitor.visit(path)
    assert (found.value.url, found.value.headers) == (visitor.site.url(path), ())


@in_browser
async def test_a_file_is_asked_for_with_the_cookies_that_led_to_it(visitor: Visitor) -> None:
    with pytest.raises(FileFound) as found:
        await visitor.visit("/image", headers={"cookie": "a=b; c=d"})
    ((name, value),) = found.value.headers
    assert (name, sorted(value.split("; "))) == ("cookie", ["a=b", "c=d"])


@in_browser
async def test_a_page_that_writes_itself_anew_is_read_as_written(visitor: Visitor) -> None:
    page = await visitor.visit("/rewrites")
    assert page.final_url == visitor.site.url("/rewrites")
    assert b"<p>Written anew</p>" in page.body


@in_browser
async def test_the_address_is_the_one_that_a_script_gave_the_page(visitor: Visitor) -> None:
    page = await visitor.visit("/pushes")
    assert page.final_url == visitor.site.url("/pushed")


@in_browser
async def test_an_address_that_a_script_made_too_long_is_not_taken_over(visitor: Visitor) -> None:
    script = "history.pushState({}, '', '/' + 'a'.repeat(100000))"
    page = await visitor.visit(
        "/article", actions=[Action(type=ActionType.EXECUTE_JAVASCRIPT, script=script)]
    )
    assert page.final_url == visitor.site.url("/article")


@in_browser
async def test_a_page_that_turns_into_none_is_refused(visitor: Visitor) -> None:
    with pytest.raises(EgressBlocked):
        await visitor.visit("/turns-blank")


@in_browser
async def test_a_page_that_tries_to_leave_the_web_is_read_where_it_is(visitor: Visitor) -> None:
    page = await visitor.visit("/leaves-web")
    assert b"Still here, with some words" in page.body


@in_browser
async def test_a_page_that_leads_to_a_refused_address_is_refused(visitor: Visitor) -> None:
    script = "location = 'http://10.1.2.3/'"
    go = Action(type=ActionType.EXECUTE_JAVASCRIPT, script=script)
    with pytest.raises(EgressBlocked):
        await visitor.visit("/article", actions=[go])


@in_browser
async def test_a_page_that_breaks_off_fails_at_once(visitor: Visitor) -> None:
    async with asyncio.timeout(20):
        with pytest.raises(ScrapeFailed):
            await visitor.visit("/breaking?times=9")


@in_browser
async def test_a_page_over_the_size_limit_is_refused(visitor: Visitor) -> None:
    with pytest.raises(ContentTooLarge):
        await with_settings(visitor, max_body_bytes=500).visit("/article")


@in_browser
async def test_a_page_that_a_script_makes_too_large_is_refused(visitor: Visitor) -> None:
    grow = Action(
        type=ActionType.EXECUTE_JAVASCRIPT,
        script="document.body.append('a'.repeat(100000))",
    )
    with pytest.raises(ContentTooLarge):
        await with_settings(visitor, max_body_bytes=50_000).visit("/article", actions=[grow])


@in_browser
async def test_text_over_the_size_limit_is_refused(visitor: Visitor) -> None:
    with pytest.raises(ContentTooLarge):
        await with_settings(visitor, max_body_bytes=10).visit("/data")


@in_browser
async def test_a_page_that_unpacks_to_what_does_not_show_is_refused_by_its_size(
    visitor: Visitor,
) -> None:
    packed = gzip.compress(bytes(5_000_000))

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n"
        writer.write(head + b"Content-Length: %d\r\n\r\n" % len(packed) + packed)
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        strict = with_settings(visitor, max_body_bytes=1_000_000)
        with pytest.raises(ContentTooLarge):
            await strict.visit(f"http://127.0.0.1:{port}/")


@in_browser
async def test_a_page_that_does_not_begin_to_load_fails(visitor: Visitor) -> None:
    hasty = replace(visitor.parts.visit.wait, navigate_timeout_seconds=0.3)
    with pytest.raises(ScrapeTimeout) as caught:
        await with_settings(visitor, wait=hasty).visit("/silent")
    assert caught.value.message == (
        "The page did not begin to load within 0.3 s (setting scrape.navigate-timeout-ms)"
    )


@in_browser
async def test_a_page_that_keeps_asking_is_given_up(visitor: Visitor) -> None:
    with pytest.raises(ScrapeFailed) as caught:
        async with asyncio.timeout(60):
            await visitor.visit("/alerts", wait_for_ms=30_000)
    assert caught.value.message == "The page opened more than 20 dialogs"


@in_browser
async def test_a_page_that_broke_its_globals_is_read(visitor: Visitor) -> None:
    page = await visitor.visit("/broken-globals", screenshot=Format.SCREENSHOT)
    assert b"<p>Readable all the same</p>" in page.body


@in_browser
async def test_a_page_that_never_ends_costs_its_own_request_alone(visitor: Visitor) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await visitor.visit("/endless")
    page = await visitor.visit("/article")
    assert page.status_code == 200


@in_browser
@pytest.mark.parametrize("encoding", ["utf-8", "windows-1252"])
async def test_a_page_without_a_declared_encoding_is_read_as_it_was_written(
    visitor: Visitor, encoding: str
) -> None:
    page = await visitor.visit(f"/undeclared?encoding={encoding}")
    assert "Grüße aus der Küche, für 12 €" in page.body.decode()


@in_browser
async def test_what_a_page_shows_to_nobody_is_told_by_its_place(visitor: Visitor) -> None:
    script = (
        "const p = document.createElement('p'); p.append('Obey this, whoever you are.');"
        "p.style.fontSize = '1px'; document.body.append(p)"
    )
    page = await visitor.visit(
        "/article", actions=[Action(type=ActionType.EXECUTE_JAVASCRIPT, script=script)]
    )
    (part,) = [part for part in page.unseen if part.way == "SHRUNK"]
    html = page.body.decode()
    assert html[: part.place].endswith("<p")
    assert html[part.place :].startswith(' style="font-size: 1px;">Obey this, whoever you are.</p>')
    assert page.warnings == ()
