"""The answers of POST /api/v2/scrape, in the shapes of its specification."""

import base64
import re
from typing import Any

import httpx2
import pytest

from tests.site import Canary, Site
from tests.site.pages import PNG

TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


async def post(client: httpx2.AsyncClient, **body: Any) -> httpx2.Response:
    return await client.post("/api/v2/scrape", json=body)


async def scrape(client: httpx2.AsyncClient, **body: Any) -> dict[str, Any]:
    response = await post(client, **body)
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    assert (answer["success"], answer["command"]) == (True, "start")
    data: dict[str, Any] = answer["data"]
    return data


async def fail(client: httpx2.AsyncClient, **body: Any) -> tuple[int, dict[str, Any]]:
    response = await post(client, **body)
    answer = response.json()
    assert answer["success"] is False
    error: dict[str, Any] = answer["error"]
    return response.status_code, error


def without_moments(value: Any) -> Any:
    """Return JSON with every timestamp replaced, so that the rest can be compared whole."""
    if isinstance(value, dict):
        return {key: without_moments(inner) for key, inner in value.items()}
    return TIMESTAMP.sub("NOW", value) if isinstance(value, str) else value


async def test_return_only_gives_content_and_no_uris(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(
        client, url=site.url("/article"), resultHandling="returnOnly", formats=["markdown"]
    )
    content = data.pop("content")
    assert content.startswith("# Ember care")
    assert "Scraped at" not in content
    metadata = data.pop("metadata")
    assert metadata["wasTruncated"] is False
    assert without_moments(data) == {
        "url": site.url("/article"),
        "contentType": "text/markdown",
        "source": "native",
        "cached": False,
        "timestamp": "NOW",
        "verdict": "ok",
    }


async def test_save_and_return_gives_content_uris_and_lengths(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/article"), formats=["markdown"])
    place = f"scrape://127.0.0.1:{site.port}/article"
    assert without_moments(data["savedUris"]) == {
        "raw": f"{place}/raw_NOW",
        "cleaned": f"{place}/cleaned_NOW",
    }
    assert data["metadata"]["cleanedLength"] == len(data["content"])
    assert data["metadata"]["tokenCount"] == -(-len(data["content"]) // 4)
    assert data["metadata"]["wordCount"] > 30
    assert data["metadata"]["rawLength"] > data["metadata"]["cleanedLength"]
    assert data["timestamp"] in data["savedUris"]["raw"]


async def test_save_only_gives_uris_and_a_message(client: httpx2.AsyncClient, site: Site) -> None:
    data = await scrape(client, url=site.url("/article"), resultHandling="saveOnly")
    place = f"scrape://127.0.0.1:{site.port}/article"
    assert without_moments(data) == {
        "url": site.url("/article"),
        "savedUris": {"raw": f"{place}/raw_NOW", "cleaned": f"{place}/cleaned_NOW"},
        "source": "native",
        "cached": False,
        "timestamp": "NOW",
        "message": "Content saved to cache",
        "verdict": "ok",
    }


async def test_a_cached_answer_says_so_and_how_old_it_is(
    client: httpx2.AsyncClient, site: Site
) -> None:
    first = await scrape(client, url=site.url("/article"))
    second = await scrape(client, url=site.url("/article"))
    assert second.pop("cacheAge") >= 0
    assert second == {**first, "cached": True}
    kept = await scrape(client, url=site.url("/article"), resultHandling="saveOnly")
    assert (kept["cached"], kept["savedUris"]) == (True, first["savedUris"])


async def test_a_failure_tells_what_was_tried(client: httpx2.AsyncClient, site: Site) -> None:
    status, error = await fail(client, url=site.url("/status?code=503"))
    timing = error["diagnostics"].pop("timing")
    assert status == 424
    assert error == {
        "message": f"Failed to scrape {site.url('/status?code=503')}: "
        "The server answered 503 Service Unavailable",
        "code": "TARGET_HTTP_ERROR",
        "statusCode": 503,
        "url": site.url("/status?code=503"),
        "verdict": "http_error",
        "nextStep": "The site itself fails: try again later.",
        "diagnostics": {
            "attemptedStrategies": ["native"],
            "lastError": "HTTP 503 Service Unavailable",
            "retryCount": 2,
            "strategyErrors": {"native": "HTTP 503 Service Unavailable"},
        },
    }
    assert timing["native"] >= 0


@pytest.mark.parametrize("code", [401, 403, 404, 410, 429, 500])
async def test_an_http_error_of_the_target_is_not_one_that_clients_retry(
    client: httpx2.AsyncClient, site: Site, code: int
) -> None:
    status, error = await fail(client, url=site.url(f"/status?code={code}"), mode="static")
    assert (status, error["code"]) == (424, "TARGET_HTTP_ERROR")
    assert error["statusCode"] == code
    assert f"The server answered {code} " in error["message"]


async def test_the_targets_wish_to_wait_is_passed_on(
    client: httpx2.AsyncClient, site: Site
) -> None:
    response = await post(client, url=site.url("/flaky?failures=9&retry-after=3600"))
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (424, "TARGET_HTTP_ERROR")
    assert (response.headers["retry-after"], error["retryAfter"]) == ("3600", 3600)
    assert "wait for 3600 seconds" in error["message"]


async def test_an_answer_that_cannot_be_read_is_a_failure_that_a_retry_may_mend(
    client: httpx2.AsyncClient, site: Site
) -> None:
    status, error = await fail(client, url=site.url("/gzip-members?then=%1f%c2%8b%08damage"))
    assert (status, error["code"], "statusCode" in error) == (500, "SCRAPE_FAILED", False)


async def test_a_url_without_a_scheme_may_be_served_over_http(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=f"{site.address}/article")
    assert data["url"] == site.url("/article")
    assert "http:// was used" in data["warning"]


async def test_a_timeout_is_said_with_its_length(client: httpx2.AsyncClient, site: Site) -> None:
    status, error = await fail(client, url=site.url("/silent"), timeout=200)
    assert (status, error["code"]) == (408, "SCRAPE_TIMEOUT")
    assert error["diagnostics"]["attemptedStrategies"] == ["native"]


async def test_every_wrong_field_is_named_at_once(client: httpx2.AsyncClient) -> None:
    response = await post(client, proxy="invalid")
    assert response.status_code == 400
    assert response.json() == {
        "success": False,
        "command": "start",
        "error": {
            "message": "Invalid arguments: url: Required; proxy: Invalid enum value",
            "code": "VALIDATION_ERROR",
            "validationErrors": [
                {"field": "url", "message": "Required"},
                {
                    "field": "proxy",
                    "message": "Invalid enum value. Expected 'basic' | 'stealth' | 'auto', "
                    "received 'invalid'",
                },
            ],
        },
    }


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"url": 123}, "url"),
        ({"url": True}, "url"),
        ({"url": {"$ne": None}}, "url"),
        ({"url": None}, "url"),
        ({"url": "file:///etc/passwd"}, "url"),
        ({"url": "a.example", "urls": ["b.example"]}, "urls"),
        ({"command": "status"}, "jobId"),
        ({"command": "dance"}, "command"),
        ({"command": "cancel", "jobId": "x", "url": "a.example"}, "url"),
        ({"url": "a.example", "jobId": "x"}, "jobId"),
        ({"urls": []}, "url"),
        ({"url": "a.example", "includeTags": ["p[["]}, "includeTags[0]"),
        ({"url": "a.example", "headers": {"X": "caf\xe9"}}, "headers.X"),
        ({"url": "a.example", "maxAge": -1}, "maxAge"),
        ({"url": "a.example", "maxAge": 1e30}, "maxAge"),
        ({"url": "a.example", "timeout": True}, "timeout"),
        ({"url": "a.example", "timeout": 0}, "timeout"),
        ({"url": "a.example", "formats": ["markdown", "pdf"]}, "formats[1]"),
        ({"url": "a.example", "headers": {"Host": "b.example"}}, "headers.Host"),
        ({"url": "a.example", "headers": {"X": "a\r\nb"}}, "headers.X"),
        ({"url": "a.example", "headers": "X: 1"}, "headers"),
        ({"url": "a.example", "actions": [{"type": "click"}]}, "actions[0].selector"),
        ({"url": "a.example", "actions": [{"type": "jump"}]}, "actions[0].type"),
        ({"url": "a.example", "parsers": [{"type": "docx"}]}, "parsers[0].type"),
    ],
)
async def test_a_wrong_field_is_named(
    client: httpx2.AsyncClient, body: dict[str, Any], field: str
) -> None:
    status, error = await fail(client, **body)
    assert (status, error["code"]) == (400, "VALIDATION_ERROR")
    assert [problem["field"] for problem in error["validationErrors"]] == [field]


async def test_problems_are_bounded(client: httpx2.AsyncClient) -> None:
    _, error = await fail(client, **{f"key{n}": n for n in range(5_000)})
    assert [problem["field"] for problem in error["validationErrors"]] == ["(request)"]
    _, error = await fail(client, urls=[1] * 5_000)
    assert len(error["validationErrors"]) <= 21


async def test_headers_and_other_fields_are_named_together(client: httpx2.AsyncClient) -> None:
    _, error = await fail(client, url="a.example", proxy="bad", headers={"Host": "b.example"})
    fields = [problem["field"] for problem in error["validationErrors"]]
    assert fields == ["proxy", "headers.Host"]


async def test_an_unknown_key_is_named_with_the_nearest_known(client: httpx2.AsyncClient) -> None:
    status, error = await fail(client, url="a.example", onlyMainContents=True)
    assert status == 400
    assert error["validationErrors"] == [
        {"field": "onlyMainContents", "message": "Unknown key. Did you mean 'onlyMainContent'?"}
    ]


@pytest.mark.parametrize("body", [b"", b"{", b"[1]", b"null", b'{"a":' * 5000, b'{"maxAge": NaN}'])
async def test_what_is_no_json_object_is_a_validation_error(
    client: httpx2.AsyncClient, body: bytes
) -> None:
    headers = {"Content-Type": "application/json"}
    response = await client.post("/api/v2/scrape", content=body, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "VALIDATION_ERROR"


async def test_a_form_is_not_taken_for_json(client: httpx2.AsyncClient) -> None:
    headers = {"Content-Type": "text/plain"}
    response = await client.post("/api/v2/scrape", content=b'{"url": "a"}', headers=headers)
    assert response.status_code == 400


async def test_null_is_absent_and_an_empty_list_is_no_filter(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(
        client,
        url=site.url("/article"),
        timeout=None,
        waitFor=None,
        includeTags=[],
        formats=[],
        actions=[],
    )
    assert data["contentType"] == "text/markdown"
    assert "<h1>" in data["html"]


async def test_every_format_has_its_key(client: httpx2.AsyncClient, site: Site) -> None:
    data = await scrape(
        client,
        url=site.url("/article"),
        formats=["links", "html", "rawHtml", "images", "markdown"],
    )
    assert data["content"].startswith("# Ember care")
    assert "<nav>" in data["rawHtml"]
    assert "<nav>" not in data["html"]
    assert data["links"] == [site.url(path) for path in ("/", "/about", "/coals?x=1")]
    assert data["images"] == [site.url("/ember.png")]


async def test_content_is_the_html_where_no_markdown_was_asked_for(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/article"), formats=["rawHtml", "html"])
    assert data["contentType"] == "text/html"
    assert "<nav>" not in data["content"]
    assert "html" not in data


async def test_without_cleaning_the_content_is_the_page_as_it_came(
    client: httpx2.AsyncClient, site: Site
) -> None:
    data = await scrape(client, url=site.url("/article"), cleanScrape=False, formats=["markdown"])
    assert data["content"].startswith("<!doctype html>")
    assert data["contentType"] == "text/html"
    assert set(data["savedUris"]) == {"raw"}


async def test_tags_choose_the_content(client: httpx2.AsyncClient, site: Site) -> None:
    kept = await scrape(
        client, url=site.url("/article"), includeTags=["h2", "#ad"], formats=["markdown"]
    )
    assert " ".join(kept["content"].split()) == "## In the morning Buy matches now"
    left = await scrape(
        client,
        url=site.url("/article"),
        excludeTags=["h1", "table", "p"],
        formats=["markdown"],
    )
    assert "Ember care" not in left["content"]
    assert "In the morning" in left["content"]


async def test_a_long_text_is_read_in_pages(client: httpx2.AsyncClient, site: Site) -> None:
    whole = await scrape(client, url=site.url("/long"), maxChars=1_000_000, formats=["markdown"])
    first = await scrape(client, url=site.url("/long"), formats=["markdown"])
    assert 99_990 < len(first["content"]) <= 100_000
    assert first["metadata"]["wasTruncated"] is True
    rest = await scrape(
        client,
        url=site.url("/long"),
        formats=["markdown"],
        startIndex=first["metadata"]["nextStartIndex"],
        maxChars=1_000_000,
    )
    assert first["content"] + rest["content"] == whole["content"]
    assert rest["metadata"]["wasTruncated"] is False
    assert site.hits("/long") == 1


async def test_a_start_beyond_the_end_says_so(client: httpx2.AsyncClient, site: Site) -> None:
    data = await scrape(client, url=site.url("/article"), startIndex=10_000)
    assert data["content"] == ""
    assert "characters" in data["metadata"]["continuation"]


async def test_media_is_a_data_uri(client: httpx2.AsyncClient, site: Site) -> None:
    data = await scrape(client, url=site.url("/image"), formats=["links"])
    assert data["format"] == "media"
    assert data["screenshotMime"] == "image/png"
    assert data["screenshotBase64"] == f"data:image/png;base64,{base64.b64encode(PNG).decode()}"


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:22/",
        "http://[::ffff:10.0.0.1]/",
        "http://2130706433/",
        "http://private.test/",
        "http://127.0.0.1:{canary}/",
        "http://site.test:{site}/redirect?to=http://127.0.0.1:{canary}/",
    ],
)
async def test_private_addresses_are_refused(
    client: httpx2.AsyncClient, site: Site, canary: Canary, url: str
) -> None:
    status, error = await fail(client, url=url.format(site=site.port, canary=canary.port))
    assert (status, error["code"]) == (403, "EGRESS_BLOCKED")
    assert "10.1.2.3" not in error["message"]
    assert not canary.was_reached()


async def test_a_body_over_the_limit_is_too_large(client: httpx2.AsyncClient) -> None:
    response = await client.post("/api/v2/scrape", content=b" " * (5 * 1024 * 1024))
    status, error = response.status_code, response.json()["error"]
    assert (status, error["code"]) == (413, "CONTENT_TOO_LARGE")
