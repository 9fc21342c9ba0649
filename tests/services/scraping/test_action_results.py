from collections.abc import AsyncIterator

import pytest

from cinder.model.document import ActionResult, FetchedPage, Source
from cinder.model.request import ActionType
from cinder.services.sandbox.sandbox import ExtractionSandbox
from cinder.services.scraping.action_results import convert_scraped, unconverted_warnings
from tests.services.overload import overloaded_sandbox

NAV = '<nav><a href="/home">Home</a></nav><main><p>Rake the ash. ü</p></main>'


@pytest.fixture
async def sandbox() -> AsyncIterator[ExtractionSandbox]:
    async with ExtractionSandbox(1, 10, 1024 * 1024 * 1024) as opened:
        yield opened


def page_with(*actions: ActionResult) -> FetchedPage:
    return FetchedPage(
        url="https://example.com/",
        final_url="https://example.com/fire/",
        status_code=200,
        headers={"content-type": "text/html; charset=latin-1"},
        body=b"<p>The page</p>",
        source=Source.BROWSER,
        strategy="browser",
        actions=actions,
    )


async def test_scraped_html_gets_its_markdown_all_of_it(sandbox: ExtractionSandbox) -> None:
    click = ActionResult(type=ActionType.CLICK, message="Clicked")
    scraped = ActionResult(type=ActionType.SCRAPE, message="Scraped", html=NAV)
    kept, converted = await convert_scraped(
        page_with(click, scraped), sandbox, remove_base64_images=True
    )
    assert kept == click
    assert converted.html == NAV
    assert (converted.markdown or "").split() == [
        *("[Home](https://example.com/home)", "Rake", "the", "ash.", "ü")
    ]
    assert unconverted_warnings((kept, converted)) == ()


async def test_html_beyond_the_sandbox_stays_as_it_is_with_a_warning() -> None:
    html = "<p>" + "<b>x</b>" * 200_000
    scraped = ActionResult(type=ActionType.SCRAPE, message="Scraped", html=html)
    async with ExtractionSandbox(1, 0.001, 1024 * 1024 * 1024) as hurried:
        actions = await convert_scraped(page_with(scraped), hurried, remove_base64_images=True)
    assert actions == (scraped,)
    assert len(unconverted_warnings(actions)) == 1


async def test_html_that_nobody_is_free_to_convert_stays_as_it_is_with_a_warning() -> None:
    html = "<p>" + "<b>x</b>" * 200_000
    scraped = ActionResult(type=ActionType.SCRAPE, message="Scraped", html=html)
    async with overloaded_sandbox() as busy:
        actions = await convert_scraped(page_with(scraped), busy, remove_base64_images=True)
    assert actions == (scraped,)
    assert len(unconverted_warnings(actions)) == 1


async def test_a_page_without_actions_needs_no_sandbox(sandbox: ExtractionSandbox) -> None:
    assert await convert_scraped(page_with(), sandbox, remove_base64_images=True) == ()
