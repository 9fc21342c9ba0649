import asyncio
from collections.abc import Mapping

import pytest

from cinder.fetch.base import FileFound
from cinder.fetch.browser.home_headers import HomeHeaders
from cinder.model.request import Format
from tests.fetch.browser.conftest import Visitor, in_browser
from tests.site import Site

SECRETS = {"Authorization": "Bearer x", "X-Api-Key": "k", "Cookie": "a=b; c=d"}
OPEN = {"X-Requested-With": "us"}


def sent_to(site: Site, path: str) -> dict[str, str]:
    """Return what of a caller's headers arrived with the last request for a page."""
    return named_of(site.pages.headers[path])


def named_of(headers: Mapping[str, str]) -> dict[str, str]:
    names = {name.lower(): name for name in (*SECRETS, *OPEN)}
    return {names[name]: value for name, value in headers.items() if name in names}


def away(elsewhere: Site, path: str) -> str:
    return f"http://other.test:{elsewhere.port}{path}"


def test_headers_are_sorted_by_where_they_may_go() -> None:
    headers = HomeHeaders("https://site.test/", [*SECRETS.items(), *OPEN.items()])
    assert headers.open == OPEN


def test_the_agent_and_the_languages_are_part_of_the_identity() -> None:
    headers = HomeHeaders(
        "https://site.test/", [("user-agent", "Me/1"), ("Accept-Language", "de"), ("DNT", "1")]
    )
    assert (headers.user_agent, headers.accept_language) == ("Me/1", "de")
    assert headers.open == {"DNT": "1"}


@in_browser
async def test_a_callers_headers_go_to_the_page_and_to_what_it_loads_from_its_site(
    visitor: Visitor, website: Site, elsewhere: Site
) -> None:
    path = f"/framed?other={away(elsewhere, '')}"
    await visitor.visit(path, headers=SECRETS | OPEN)
    assert sent_to(website, "/framed") == SECRETS | OPEN
    assert sent_to(website, "/data") == SECRETS | OPEN


@in_browser
async def test_secrets_do_not_go_along_to_other_sites(visitor: Visitor, elsewhere: Site) -> None:
    await visitor.visit(
        f"/framed?other={away(elsewhere, '')}",
        headers=SECRETS | OPEN,
        screenshot=Format.SCREENSHOT,
    )
    for path in ("/image", "/script", "/article"):
        assert sent_to(elsewhere, path) == OPEN


@in_browser
@pytest.mark.parametrize("code", [302, 307])
async def test_secrets_do_not_follow_a_redirect_to_another_site(
    visitor: Visitor, website: Site, elsewhere: Site, code: int
) -> None:
    target = away(elsewhere, "/echo")
    page = await visitor.visit(f"/redirect?code={code}&to={target}", headers=SECRETS | OPEN)
    assert page.final_url == target
    assert sent_to(website, "/redirect") == SECRETS | OPEN
    assert sent_to(elsewhere, "/echo") == OPEN


@in_browser
async def test_secrets_follow_a_redirect_on_their_own_site(visitor: Visitor, website: Site) -> None:
    await visitor.visit("/redirect?to=/echo", headers=SECRETS | OPEN)
    assert sent_to(website, "/echo") == SECRETS | OPEN


@in_browser
async def test_what_a_page_loads_does_not_take_secrets_along_a_redirect(
    visitor: Visitor, website: Site, elsewhere: Site
) -> None:
    # The page asks its own site for a script, which sends it elsewhere.
    path = f"/framed?other=/redirect%3Fto%3D{away(elsewhere, '')}"
    await visitor.visit(path, headers=SECRETS | OPEN)
    assert sent_to(website, "/redirect") == SECRETS | OPEN
    assert sent_to(elsewhere, "/script") == OPEN


@in_browser
async def test_a_file_elsewhere_is_asked_for_at_home_first(
    visitor: Visitor, elsewhere: Site
) -> None:
    url = visitor.site.url(f"/redirect?to={away(elsewhere, '/image')}")
    with pytest.raises(FileFound) as found:
        await visitor.visit(url, headers=SECRETS)
    assert found.value.url == url


@in_browser
async def test_secrets_cost_a_page_that_never_answers_nothing_but_time(
    visitor: Visitor, website: Site
) -> None:
    async with asyncio.TaskGroup() as tasks:
        visit = tasks.create_task(visitor.visit("/silent", headers=SECRETS))
        await website.asked("/silent")
        website.release()
    assert visit.result().final_url == website.url("/silent")
