from cinder.app import App
from cinder.model.request import OWNER, ScrapeRequest
from cinder.services.search.saved_text import ArchivedTexts
from tests.site import Site


async def test_the_text_of_a_page_that_is_kept_is_found(app: App, site: Site) -> None:
    await app.scrape.scrape(ScrapeRequest(url=site.url("/article")))
    texts = ArchivedTexts(app.archive)
    text = await texts.find(site.url("/article"), OWNER)
    assert text is not None
    assert text.startswith("# Ember care")
    assert await texts.find(site.url("/other"), OWNER) is None


async def test_what_came_with_credentials_is_found_by_its_owner_alone(app: App, site: Site) -> None:
    request = ScrapeRequest(
        url=site.url("/article"), headers=(("Authorization", "Bearer x"),), caller="somebody"
    )
    await app.scrape.scrape(request)
    texts = ArchivedTexts(app.archive)
    assert await texts.find(site.url("/article"), "somebody") is not None
    assert await texts.find(site.url("/article"), OWNER) is None
