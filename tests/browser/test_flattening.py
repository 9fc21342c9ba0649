"""What a rendered page shows beyond its own tree: shadow roots, frames, and no overlays."""

from cinder.documents.page_content import extract_content
from cinder.models.document import FetchedPage
from cinder.models.request import Action, ActionType, ExtractOptions, Format
from tests.browser.conftest import Visitor, in_browser


def read(page: FetchedPage) -> tuple[str, tuple[str, ...]]:
    options = ExtractOptions(formats=(Format.MARKDOWN, Format.LINKS))
    found = extract_content(
        page.body,
        content_type=page.headers["content-type"],
        url=page.final_url,
        options=options,
        unseen=page.unseen,
    )
    return found.markdown or "", found.links or ()


@in_browser
async def test_a_web_component_and_a_frame_belong_to_their_page(visitor: Visitor) -> None:
    markdown, links = read(await visitor.visit("/vue/index.html"))
    parts = (
        "# The estuary",
        "- Curlew",
        "## Tides of the week",
        "covers the lower road.",
        "Times are in local time",
        "Heights are measured above chart datum.",
        "## Log of the ferry",
        "came free with the evening tide.",
    )
    assert [part for part in parts if part not in markdown] == []
    # In the order in which they show.
    assert sorted(parts, key=markdown.index) == list(parts)
    assert {visitor.site.url("/article"), visitor.site.url("/guide")} <= set(links)


@in_browser
async def test_actions_find_elements_in_shadow_roots_and_frames(visitor: Visitor) -> None:
    actions = (
        Action(type=ActionType.CLICK, selector="#more"),
        Action(type=ActionType.SCRAPE, selector="body > h2"),
    )
    page = await visitor.visit("/vue/index.html", actions=actions)
    assert "Neap tides leave the sandbank dry" in read(page)[0]
    assert page.actions[-1].html == "<h2>Log of the ferry</h2>"


@in_browser
async def test_a_newsletter_dialog_is_no_content(visitor: Visitor) -> None:
    page = await visitor.visit("/with-newsletter")
    markdown, _ = read(page)
    assert "Cover the coals" in markdown
    assert "only has the role" in markdown
    assert "Never miss" not in markdown
    assert b"Never miss" not in page.body


@in_browser
async def test_a_page_whose_bundle_is_gone_gives_the_text_in_its_data(visitor: Visitor) -> None:
    markdown, links = read(await visitor.visit("/next/lighthouse.html"))
    assert markdown.startswith("# The keepers of the lighthouse")
    assert "floats on a bath of mercury." in markdown
    assert links == (visitor.site.url("/lens"),)
