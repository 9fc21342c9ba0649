from dataclasses import replace

from cinder.models.document import FetchedPage
from cinder.models.request import Format
from tests.browser.conftest import Visitor, in_browser
from tests.site import Site
from tests.site.png import png_size

pytestmark = in_browser


def size_of(page: FetchedPage) -> tuple[int, int]:
    assert page.screenshot is not None
    assert page.screenshot.mime == "image/png"
    return png_size(page.screenshot.data)


async def test_a_screenshot_is_as_large_as_the_window(visitor: Visitor) -> None:
    page = await visitor.visit("/form", screenshot=Format.SCREENSHOT)
    assert size_of(page) == (1280, 800)
    assert page.warnings == ()


async def test_a_full_screenshot_is_as_tall_as_the_page(visitor: Visitor) -> None:
    page = await visitor.visit("/inner-box", screenshot=Format.FULL_SCREENSHOT)
    assert size_of(page) == (1280, 800)
    page = await visitor.visit("/pictures", screenshot=Format.FULL_SCREENSHOT)
    width, height = size_of(page)
    assert width == 1280
    assert 2000 < height < 2100
    assert page.warnings == ()


async def test_a_full_screenshot_of_a_tall_page_ends_somewhere_and_says_so(
    visitor: Visitor,
) -> None:
    page = await short_sighted(visitor).visit("/tall", screenshot=Format.FULL_SCREENSHOT)
    assert size_of(page) == (1280, 3000)
    assert page.warnings == (
        "The page is larger than the screenshot, which ends at 3000 pixels (setting "
        "browser.screenshot-max-height).",
    )


async def test_a_phones_screenshot_has_a_phones_pixels(visitor: Visitor) -> None:
    page = await visitor.visit("/form", screenshot=Format.SCREENSHOT, mobile=True)
    assert size_of(page) == (824, 1830)


async def test_the_limit_counts_the_pictures_pixels_and_not_the_pages(visitor: Visitor) -> None:
    page = await short_sighted(visitor).visit(
        "/tall", screenshot=Format.FULL_SCREENSHOT, mobile=True
    )
    assert size_of(page)[1] == 3000


async def test_pictures_are_loaded_only_for_a_screenshot(visitor: Visitor, website: Site) -> None:
    page = await visitor.visit("/pictures")
    assert (page.screenshot, website.hits("/picture.png")) == (None, 0)
    await visitor.visit("/pictures", screenshot=Format.SCREENSHOT)
    assert website.hits("/picture.png") == 1


async def test_pictures_below_are_loaded_for_a_full_screenshot(
    visitor: Visitor, website: Site
) -> None:
    await visitor.visit("/pictures", screenshot=Format.FULL_SCREENSHOT)
    assert (website.hits("/picture.png"), website.hits("/below.png")) == (1, 1)


def short_sighted(visitor: Visitor) -> Visitor:
    parts = visitor.parts
    return replace(
        visitor, parts=replace(parts, visit=replace(parts.visit, max_screenshot_height=3000))
    )
