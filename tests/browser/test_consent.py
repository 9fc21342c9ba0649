import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from cinder.browser.tab import Tab, read_script
from tests.browser.bare_chromium import open_tab, show

ARTICLE = f"<main><h1>Tides</h1><p>{'The sea comes and goes twice a day. ' * 20}</p></main>"
FIXED = "position:fixed; bottom:0; left:0; right:0; z-index:9999; background:white; padding:30px"


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with open_tab(tmp_path) as opened:
        yield opened


async def clear(tab: Tab, html: str) -> list[str]:
    """Show a page, run the script on it and return what it says it did."""
    await show(tab, f"<!DOCTYPE html><html><body>{html}</body></html>")
    done: list[str] = await tab.evaluate(read_script("consent"))
    return done


async def text_of(tab: Tab) -> str:
    return str(await tab.evaluate("document.body.innerText"))


async def test_a_known_manager_is_refused_and_removed(tab: Tab) -> None:
    done = await clear(
        tab,
        f"""{ARTICLE}<div id="onetrust-consent-sdk"><div id="onetrust-banner-sdk" style="{FIXED}">
        We use cookies. <button id="onetrust-accept-btn-handler">Accept all</button>
        <button id="onetrust-reject-all-handler"
          onclick="document.title = 'refused'">Reject all</button></div></div>""",
    )
    assert done == ["refused OneTrust", "removed OneTrust"]
    assert await tab.evaluate("document.title") == "refused"
    assert "cookies" not in await text_of(tab)


async def test_a_manager_in_a_shadow_tree_is_refused_and_removed(tab: Tab) -> None:
    done = await clear(
        tab,
        f"""{ARTICLE}<div id="usercentrics-root"></div><script>
        const root = document.getElementById('usercentrics-root').attachShadow({{mode: 'open'}});
        root.innerHTML = '<button data-testid="uc-deny-all-button">Deny</button>';
        root.querySelector('button').onclick = () => document.title = 'refused';
        </script>""",
    )
    assert done == ["refused Usercentrics", "removed Usercentrics"]
    assert await tab.evaluate("document.title") == "refused"


@pytest.mark.parametrize(
    ("words", "refusal"),
    [
        ("We and our partners use cookies to improve your visit.", "Only necessary"),
        ("Wir verwenden Cookies und ähnliche Techniken.", "Alle ablehnen"),
        ("Nous utilisons des cookies sur ce site.", "Continuer sans accepter"),
        ("Utilizamos cookies propias y de terceros.", "Rechazar todo"),
        ("Questo sito usa i cookie.", "Rifiuta tutto"),
        ("Wij gebruiken cookies op deze site.", "Alles weigeren"),
        ("Używamy ciasteczek na tej stronie.", "Odrzuć wszystkie"),
        ("Usamos cookies neste site.", "Rejeitar todos"),
        ("Vi använder kakor på webbplatsen.", "Endast nödvändiga"),
        ("Käytämme evästeitä sivustolla.", "Hylkää kaikki"),
    ],
)
async def test_an_unknown_pop_up_is_refused_in_its_language(
    tab: Tab, words: str, refusal: str
) -> None:
    done = await clear(
        tab,
        f"""{ARTICLE}<div class="x1" style="{FIXED}"><p>{words}</p>
        <button onclick="document.title = 'refused'">{refusal}</button></div>""",
    )
    assert done == ["refused div.x1", "removed div.x1"]
    assert await tab.evaluate("document.title") == "refused"
    assert words not in await text_of(tab)


async def test_a_pop_up_that_can_only_be_accepted_is_removed_unaccepted(tab: Tab) -> None:
    done = await clear(
        tab,
        f"""{ARTICLE}<div role="dialog" id="w" style="{FIXED}">This site uses cookies.
        <button onclick="document.title = 'accepted'">OK</button></div>""",
    )
    assert done == ["removed div#w"]
    assert await tab.evaluate("document.title") == ""


async def test_a_banner_is_known_by_its_name_wherever_it_stands(tab: Tab) -> None:
    done = await clear(
        tab,
        f"""<div class="site-cookie-notice">We use cookies.
        <a href="/privacy">More</a> <button>Got it</button></div>{ARTICLE}""",
    )
    assert done == ["removed div.site-cookie-notice"]


async def test_scrolling_is_unlocked_and_the_backdrop_removed(tab: Tab) -> None:
    done = await clear(
        tab,
        f"""<style>body {{ overflow: hidden }}</style>{ARTICLE}
        <div id="shade" style="position:fixed; inset:0; background:#0008; z-index:10"></div>
        <div id="p" style="{FIXED}">We value your privacy. <button>Agree</button></div>""",
    )
    assert done == ["removed div#p", "removed div#shade", "unlocked scrolling"]
    assert await tab.evaluate("getComputedStyle(document.body).overflowY") != "hidden"


@pytest.mark.parametrize(
    "html",
    [
        pytest.param(
            f"""<main><article><h1>How cookies work</h1><p>{"Cookies need consent. " * 40}</p>
            <button>I accept cookies</button></article></main>""",
            id="an article about cookies",
        ),
        pytest.param(
            f"""<div style="position:fixed; inset:0; overflow:auto"><h1>Cookie law</h1>
            <p>{"The GDPR asks for consent to cookies. " * 30}</p><button>Accept</button></div>""",
            id="an application whose one page is about cookies",
        ),
        pytest.param(
            f"""{ARTICLE}<header style="position:sticky; top:0"><nav><a href="/c">Cookies</a>
            <button>OK</button></nav></header>""",
            id="a header that links to the cookie policy",
        ),
        pytest.param(
            f"""{ARTICLE}<div role="dialog" style="{FIXED}">Log in. By going on you agree to how
            we use your personal data. <input type="password"><button>I agree</button></div>""",
            id="a login",
        ),
        pytest.param(
            f"""{ARTICLE}<div style="{FIXED}">Our cookies are baked daily, ask the baker.</div>""",
            id="nothing to press",
        ),
        pytest.param(
            """<div role="dialog" id="cookie-wall">We use cookies. <button>OK</button></div>""",
            id="nothing else on the page",
        ),
    ],
)
async def test_what_is_no_pop_up_stays(tab: Tab, html: str) -> None:
    assert await clear(tab, html) == []
    shown = re.sub(r"<style>.*?</style>|<[^>]*>", " ", html)
    assert (await text_of(tab)).split() == shown.split()


@pytest.mark.parametrize(
    "refusal",
    [
        '<a href="/elsewhere">Reject all</a>',
        '<form action="/elsewhere"><button>Reject all</button></form>',
    ],
)
async def test_a_refusal_that_leads_away_is_not_followed(tab: Tab, refusal: str) -> None:
    done = await clear(tab, f'{ARTICLE}<div id="b" style="{FIXED}">Cookies? {refusal}</div>')
    assert done == ["removed div#b"]


async def test_a_page_that_stands_in_the_way_costs_no_more_than_the_pop_up(tab: Tab) -> None:
    done = await clear(
        tab,
        f"""<script>
        Element.prototype.remove = () => {{ throw new Error('no'); }};
        Document.prototype.querySelectorAll = null; Array.prototype.slice = null;
        RegExp.prototype.test = () => true;
        </script><img name="querySelectorAll"><img name="elementFromPoint">{ARTICLE}
        <form id="f" style="{FIXED}">We use cookies. <input name="remove" type="button" value="OK">
        <input name="matches" type="hidden"></form>""",
    )
    assert done in (["removed form#f"], ["stopped: the page is not what it seems"])
    assert "The sea" in await text_of(tab)


async def test_a_huge_page_is_left_within_a_bounded_time(tab: Tab) -> None:
    box = '<div role="dialog" class="cookie-box" style="position:fixed">Cookies <b>and</b> so</div>'
    done = await clear(tab, ARTICLE + box * 20_000)
    assert done == []
