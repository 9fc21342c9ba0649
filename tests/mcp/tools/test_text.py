"""The tools that fetch nothing: `scrape_extract_content` and `scrape_text_similarity`."""

import json

from cinder.config.settings import read_settings
from tests.mcp.conftest import Call
from tests.mcp.reading import error_of, text_of, unmarked

HTML = (
    "<html><head><title>Test</title><meta name='description' content='About'></head>"
    "<body><h1>Hello</h1><p>World</p><a href='/a'>A</a><img src='/b.png'></body></html>"
)


async def test_extract_content_lists_what_html_holds(call: Call) -> None:
    result = await call("scrape_extract_content", html=HTML, base_url="https://example.com")
    data = result.structured_content
    assert data.pop("content_hash")
    assert data == {
        "status": "ok",
        "title": "Test",
        "headings": [{"level": 1, "text": "Hello"}],
        "paragraph_count": 1,
        "link_count": 1,
        "image_count": 1,
        "word_count": 3,
        "meta": {"description": "About"},
        "links": ["https://example.com/a"],
        "images": ["https://example.com/b.png"],
    }


async def test_extract_content_says_the_same_in_text(call: Call) -> None:
    result = unmarked(await call("scrape_extract_content", html=HTML))
    assert json.loads(text_of(result)) == result.structured_content


async def test_extract_content_cuts_long_lists_and_says_so(call: Call) -> None:
    html = "".join(f"<a href='https://example.com/{n}'>x</a>" for n in range(2_000))
    result = await call("scrape_extract_content", html=html)
    data = result.structured_content
    assert data["link_count"] == 2_000
    assert 0 < len(data["links"]) < 2_000
    assert f"the first {len(data['links'])} of 2000 links" in data["warning"]
    assert len(text_of(result)) <= read_settings().server.mcp_result_max_chars


async def test_similarity_of_half_shared_words(call: Call) -> None:
    result = await call(
        "scrape_text_similarity", text_a="the quick brown fox", text_b="The quick red fox"
    )
    assert result.structured_content == {"status": "ok", "similarity": 0.6}
    assert json.loads(text_of(result)) == result.structured_content


async def test_wrong_arguments_fail_in_the_shape_of_an_answer(call: Call) -> None:
    result = await call("scrape_text_similarity", text_a="the quick brown fox", text_c="x")
    error = error_of(result)
    assert result.structured_content["status"] == "error"
    assert "- text_b: Required" in result.structured_content["error"]
    assert "text_c: Unknown key. Did you mean" in result.structured_content["error"]
    assert json.loads(error) == result.structured_content
