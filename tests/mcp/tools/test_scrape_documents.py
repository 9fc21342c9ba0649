"""The tool `scrape` on PDF documents."""

import base64

import mcp_types as types

from tests.mcp.conftest import Call, Connect
from tests.site import Site
from tests.site.documents import HANDBOOK_PAGES, handbook


async def test_thirty_pages_give_their_headings_and_tables(call: Call, site: Site) -> None:
    url = site.url("/document?name=handbook.pdf")
    data = (
        await call("scrape", url=url, parsers=[{"type": "pdf"}], maxChars=100_000)
    ).structured_content
    content = data["content"]
    assert "<!-- page 29 -->\n\n## 6.3 Tending safety\n" in content
    assert "| Oak 29 | 9 | burns long and evenly |" in content
    assert data["metadata"]["pageCount"] == HANDBOOK_PAGES
    assert data["contentType"] == "text/markdown"


async def test_parsers_may_arrive_as_json_in_a_string(call: Call, site: Site) -> None:
    url = site.url("/document?name=handbook.pdf")
    result = await call("scrape", url=url, parsers='[{"type": "pdf", "maxPages": 1}]')
    assert result.structured_content["content"].count("<!-- page ") == 1


async def test_the_file_that_was_parsed_can_be_read(connect: Connect, site: Site) -> None:
    async with connect() as client:
        await client.list_tools()
        arguments = {"url": site.url("/document?name=handbook.pdf"), "parsers": [{"type": "pdf"}]}
        result = await client.call_tool("scrape", arguments)
        uri = (result.structured_content or {})["savedUris"]["raw"]
        (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, types.BlobResourceContents)
    assert contents.mime_type == "application/pdf"
    assert base64.b64decode(contents.blob) == handbook()
