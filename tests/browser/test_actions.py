import asyncio
from dataclasses import replace
from typing import Any

import pytest

from cinder.browser.engine import BrowserParts
from cinder.errors import ActionFailed, EgressBlocked, ErrorCode
from cinder.models.document import ActionResult, FetchedPage
from cinder.models.request import Action, ActionType, Format
from tests.browser.conftest import Visitor, in_browser
from tests.site import Site
from tests.site.png import png_size

pytestmark = in_browser

PNG_OF_WINDOW = (1280, 800)


def wait(milliseconds: int) -> Action:
    return Action(type=ActionType.WAIT, milliseconds=milliseconds)


def click(selector: str) -> Action:
    return Action(type=ActionType.CLICK, selector=selector)


def write(selector: str, text: str) -> Action:
    return Action(type=ActionType.WRITE, selector=selector, text=text)


def press(key: str) -> Action:
    return Action(type=ActionType.PRESS, key=key)


def scroll(direction: str, amount: int | None = None) -> Action:
    return Action(type=ActionType.SCROLL, direction=direction, amount=amount)


def scrape(selector: str | None = None) -> Action:
    return Action(type=ActionType.SCRAPE, selector=selector)


def photograph(name: str | None = None) -> Action:
    return Action(type=ActionType.SCREENSHOT, name=name)


def run(script: str) -> Action:
    return Action(type=ActionType.EXECUTE_JAVASCRIPT, script=script)


LOG = scrape("#log")


async def do(visitor: Visitor, path: str, *actions: Action) -> tuple[ActionResult, ...]:
    return (await visitor.visit(path, actions=actions)).actions


async def logged(visitor: Visitor, *actions: Action) -> str:
    """Return what the form has logged, as the HTML of its list."""
    results = await do(visitor, "/form", *actions, LOG)
    return results[-1].html or ""


async def refusal(visitor: Visitor, path: str, *actions: Action) -> ActionFailed:
    with pytest.raises(ActionFailed) as caught:
        await visitor.visit(path, actions=actions)
    assert caught.value.code is ErrorCode.ACTION_FAILED
    return caught.value


async def value_of(visitor: Visitor, script: str, path: str = "/form") -> Any:
    """Return what a script returns. Any: whatever it makes."""
    return (await do(visitor, path, run(script)))[-1].value


async def test_each_action_of_the_seeds_example_answers_with_its_result(visitor: Visitor) -> None:
    page = await visitor.visit(
        "/banner", actions=(wait(20), click("#cookie-accept"), scrape("#main-content"))
    )
    assert [(result.type, result.message) for result in page.actions] == [
        (ActionType.WAIT, "Waited 20 ms."),
        (ActionType.CLICK, 'Clicked <button#cookie-accept> "Accept all cookies".'),
        (ActionType.SCRAPE, "Took 98 characters of HTML."),
    ]
    assert page.actions[-1].html == (
        '<main id="main-content"><h1>Tides</h1>\n'
        '<p id="text">The sea comes and goes twice a day.</p></main>'
    )
    assert page.actions[0].elapsed_ms >= 20


async def test_an_action_reaches_what_a_consent_pop_up_covers(visitor: Visitor) -> None:
    page = await visitor.visit("/covered-by-banner", actions=[click("#buy")])
    assert b"<title>bought</title>" in page.body


async def test_a_consent_pop_up_is_left_to_the_actions_that_are_about_it(visitor: Visitor) -> None:
    accept = click("#onetrust-accept-btn-handler")
    page = await visitor.visit("/covered-by-banner", actions=[accept])
    assert b"<title>accepted</title>" in page.body
    assert b"We use cookies" not in page.body


# Clicks


async def test_a_click_is_one_that_the_page_sees(visitor: Visitor) -> None:
    assert await logged(visitor, click("#more"), wait(1000)) == (
        '<ul id="log"><li>more came</li></ul>'
    )


async def test_an_element_that_comes_later_is_waited_for(visitor: Visitor) -> None:
    assert await logged(visitor, click("#later"), click("#late")) == (
        '<ul id="log"><li>late clicked</li></ul>'
    )


async def test_a_click_that_leads_to_another_page_is_followed(visitor: Visitor) -> None:
    page = await visitor.visit("/form", actions=[click("#link")])
    assert page.final_url == visitor.site.url("/article")
    assert b"<title>Ember care</title>" in page.body
    assert page.actions[0].message == (
        'Clicked <a#link> "To the article". That led to another page.'
    )


async def test_what_would_open_in_a_new_window_opens_in_the_same(visitor: Visitor) -> None:
    page = await visitor.visit("/form", actions=[click("#window")])
    assert page.final_url == visitor.site.url("/article")
    assert page.actions[0].message == (
        'Clicked <a#window> "In a new window". It opened a new window, '
        f"{visitor.site.url('/article')}: went there instead."
    )


async def test_a_click_that_leads_to_a_file_stays_and_says_so(visitor: Visitor) -> None:
    page = await visitor.visit("/form", actions=[click("#file"), click("#more")])
    assert page.final_url == visitor.site.url("/form")
    assert [result.message for result in page.actions] == [
        'Clicked <a#file> "A file". It led to a file, which was not downloaded.',
        'Clicked <button#more> "More".',
    ]


async def test_a_file_in_a_new_window_is_left_alone(visitor: Visitor) -> None:
    page = await visitor.visit("/links", actions=[click("#file-window")])
    assert page.final_url == visitor.site.url("/links")
    assert page.actions[0].message == (
        'Clicked <a#file-window> "File window". It opened '
        f"{visitor.site.url('/attachment')}, which is not a page."
    )


@pytest.mark.parametrize(
    ("selector", "path"),
    [
        ("#hash", "/links#below"),
        ("#mail", "/links"),
        ("#nothing", "/links"),
        ("#push", "/pushed"),
        ("#back", "/links"),
        ("#rewrite", "/links"),
        ("#frame", "/links"),
    ],
)
async def test_a_click_that_loads_no_page_does_not_wait_for_one(
    visitor: Visitor, selector: str, path: str
) -> None:
    # Far from the time that it waits for a page that is to come.
    async with asyncio.timeout(20):
        page = await visitor.visit("/links", actions=[click(selector)])
    assert page.final_url == visitor.site.url(path)
    assert "another page" not in page.actions[0].message


async def test_a_page_that_asks_to_stay_is_left(visitor: Visitor) -> None:
    page = await visitor.visit("/asks-to-stay", actions=[click("#link")])
    assert page.final_url == visitor.site.url("/article")


async def test_an_action_after_a_page_that_leaves_late_is_done_on_the_next(
    visitor: Visitor,
) -> None:
    page = await visitor.visit("/links", actions=[click("#soon"), click("#more")])
    assert page.final_url == visitor.site.url("/form")
    assert page.actions[1].message == 'Clicked <button#more> "More".'


async def test_a_failing_action_names_itself_and_what_was_on_the_page(visitor: Visitor) -> None:
    error = await refusal(visitor, "/search", wait(1), click("#nope"))
    assert error.message == (
        "actions[1] (click '#nope') could not be done: no element matches the selector. The page "
        f"then was {visitor.site.url('/search')} (Search), with input#query."
    )


@pytest.mark.parametrize(
    ("actions", "why"),
    [
        ([click("#hidden")], '<button#hidden> "Hidden" is there and cannot be seen'),
        ([click("##")], "it is not a valid CSS selector"),
        (
            [click("#veil"), click("#more")],
            '<button#more> "More" is covered by <div#cover> "cover"',
        ),
    ],
)
async def test_a_click_that_nobody_could_do_fails(
    visitor: Visitor, actions: list[Action], why: str
) -> None:
    assert f"could not be done: {why}. " in (await refusal(visitor, "/form", *actions)).message


@pytest.mark.parametrize("selector", ["#dead", "#dead-window"])
async def test_a_click_that_leads_nowhere_fails(visitor: Visitor, selector: str) -> None:
    error = await refusal(visitor, "/links", click(selector))
    assert f"actions[0] (click '{selector}') could not be done: it " in error.message
    assert "ERR_" in error.message


# Writing


@pytest.mark.parametrize(
    ("selector", "text", "log"),
    [
        ("#name", "Ada", "<li>name=Ada</li>"),
        ("#name", "", "<li>name=</li>"),
        ("#note", "a note", "<li>note=a note</li>"),
        ("#wood", "b", "<li>wood=b</li>"),
        ("#wood", "Birch", "<li>wood=b</li>"),
        ("#date", "2025-11-15", "<li>date=2025-11-15</li>"),
    ],
)
async def test_text_replaces_what_a_field_holds(
    visitor: Visitor, selector: str, text: str, log: str
) -> None:
    results = await do(visitor, "/form", write(selector, text), LOG)
    assert results[1].html == f'<ul id="log">{log}</ul>'
    assert results[0].message.startswith(f"Wrote {len(text)} characters into <")


async def test_text_replaces_what_an_editable_element_holds(visitor: Visitor) -> None:
    results = await do(visitor, "/form", write("#editable", "new"), scrape("#editable"))
    assert results[1].html == '<div id="editable" contenteditable="">new</div>'


@pytest.mark.parametrize(
    ("selector", "text", "why"),
    [
        ("#nope", "x", "no element matches the selector"),
        ("#locked", "x", "the field takes no input"),
        ("#box", "x", "<input> is not a field that takes text"),
        ("#link", "x", "<a> is not a field that takes text"),
        ("#wood", "Elm", "the list has no such choice; it has: Oak, Birch"),
        ("#date", "tomorrow", "the field of type date refuses the text"),
    ],
)
async def test_text_that_cannot_be_written_fails(
    visitor: Visitor, selector: str, text: str, why: str
) -> None:
    error = await refusal(visitor, "/form", write(selector, text))
    assert f"actions[0] (write '{selector}') could not be done: {why}. " in error.message


# Keys


async def test_enter_submits_a_form(visitor: Visitor) -> None:
    page = await visitor.visit("/search", actions=[write("#query", "7"), press("Enter")])
    assert page.final_url == visitor.site.url("/numbered?n=7")
    assert page.actions[1].message == "Pressed Enter. That led to another page."


async def test_modifiers_are_held_while_a_key_is_pressed(visitor: Visitor) -> None:
    assert await logged(
        visitor, write("#name", "Ada"), press("Control+A"), press("Backspace"), press("b")
    ) == (
        '<ul id="log"><li>name=Ada</li><li>key Control</li><li>key ctrl+a</li>'
        "<li>key Backspace</li><li>name=</li><li>key b</li><li>name=b</li></ul>"
    )


async def test_a_key_that_does_not_exist_fails(visitor: Visitor) -> None:
    error = await refusal(visitor, "/form", press("Any"))
    assert error.message.startswith("actions[0] (press) could not be done: ")


# Scrolling


async def test_a_page_scrolls_by_a_screenful_and_back(visitor: Visitor) -> None:
    results = await do(
        visitor, "/form", scroll("down"), scroll("up", 100), scroll("up", 5000), run("scrollY")
    )
    height = await value_of(visitor, "document.documentElement.scrollHeight")
    assert [result.message for result in results[:3]] == [
        f"Scrolled down by 720 pixels, to 720 of {height}.",
        f"Scrolled up by 100 pixels, to 620 of {height}.",
        f"Scrolled up by 620 pixels, to 0 of {height}.",
    ]
    assert results[3].value == 0


async def test_a_page_that_keeps_its_content_in_a_box_scrolls_the_box(visitor: Visitor) -> None:
    script = "document.getElementById('box').scrollTop"
    results = await do(visitor, "/inner-box", scroll("down", 300), run(script))
    assert results[0].message == "Scrolled down by 300 pixels, to 300 of 5000."
    assert results[1].value == 300


async def test_a_page_with_nothing_to_scroll_says_so(visitor: Visitor) -> None:
    results = await do(visitor, "/search", scroll("down"))
    assert results[0].message == "Scrolled down by 0 pixels, to 0 of 800."


# Screenshots and scrapes


async def test_a_screenshot_shows_the_window_and_bears_its_name(visitor: Visitor) -> None:
    (result,) = await do(visitor, "/form", photograph("before"))
    assert result.screenshot is not None
    assert (result.name, result.screenshot.mime) == ("before", "image/png")
    assert png_size(result.screenshot.data) == PNG_OF_WINDOW


async def test_an_eleventh_screenshot_fails(visitor: Visitor) -> None:
    error = await refusal(visitor, "/search", *[photograph()] * 11)
    assert error.message.startswith(
        "actions[10] (screenshot) could not be done: a request takes at most 10 screenshots."
    )


async def test_a_scrape_without_a_selector_takes_the_page(visitor: Visitor) -> None:
    (result,) = await do(visitor, "/search", scrape())
    assert (result.html or "").startswith("<!DOCTYPE html><html><head><title>Search</title>")


async def test_a_scrape_of_what_is_not_there_fails(visitor: Visitor) -> None:
    error = await refusal(visitor, "/search", scrape("#nope"))
    assert error.message.startswith(
        "actions[0] (scrape '#nope') could not be done: no element matches the selector."
    )


async def test_a_scrape_of_too_much_fails(visitor: Visitor) -> None:
    parts = visitor.parts
    small = replace(parts, visit=replace(parts.visit, max_body_bytes=10_000))
    grow = run("document.getElementById('wood').title = 'x'.repeat(20000)")
    error = await refusal(replace(visitor, parts=small), "/form", grow, scrape("#wood"))
    assert error.message.startswith(
        "actions[1] (scrape '#wood') could not be done: its 20098 characters are more"
    )


# Scripts


VALUES: list[tuple[str, Any]] = [
    ("1 + 1", 2),
    ("document.title", "Form"),
    ("const a = 2; a * 3", 6),
    ("return document.title", "Form"),
    ("const a = 2; return a * 3", 6),
    ("await Promise.resolve(5)", 5),
    ("const a = await Promise.resolve(5); return a + 1", 6),
    ("Promise.resolve({ a: [1, null] })", {"a": [1, None]}),
    ("(async () => 'later')()", "later"),
    ("({ SCRIPT: 'LIMIT' })", {"SCRIPT": "LIMIT"}),
    ("true", True),
    ("null", None),
    ("undefined", None),
    ("() => 1", None),
    ("NaN", None),
    ("new Date(0)", "1970-01-01T00:00:00.000Z"),
    ("'last' // with a comment", "last"),
    ("return 'last' // with a comment", "last"),
]


def nested(levels: int) -> str:
    return f"let a = []; for (let i = 1; i < {levels}; i++) a = [a]; a"


async def test_scripts_return_their_values(visitor: Visitor) -> None:
    results = await do(visitor, "/form", *[run(script) for script, _ in VALUES])
    returned = [(script, result.value) for (script, _), result in zip(VALUES, results, strict=True)]
    assert returned == VALUES


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("throw new Error('boom')", "Error: boom"),
        ("throw 'a word'", "a word"),
        ("await Promise.reject(new Error('later'))", "Error: later"),
        ("nothing.at.all", "ReferenceError: nothing is not defined"),
        ("const a = {}; a.a = a; a", "TypeError: Converting circular structure to JSON"),
        ("10n", "TypeError: Do not know how to serialize a BigInt"),
        ("if (", "SyntaxError: Unexpected token '}'"),
        ("'x'.repeat(1024 * 1024 + 1)", "its result has more than 1048576 characters as JSON"),
        ("['x'.repeat(1024 * 1024)]", "its result has more than 1048576 characters as JSON"),
        *((nested(n), "its result is nested deeper than 100 levels") for n in (101, 5000)),
    ],
)
async def test_a_script_that_fails_tells_why(visitor: Visitor, script: str, why: str) -> None:
    error = await refusal(visitor, "/form", run(script))
    assert f"actions[0] (executeJavascript) could not be done: {why}. " in error.message


async def test_a_script_runs_among_the_pages_own(visitor: Visitor) -> None:
    assert await logged(visitor, run("log('from outside')")) == (
        '<ul id="log"><li>from outside</li></ul>'
    )


@pytest.mark.parametrize(
    "script", ["document.title", "return document.title", "({}).a || 'Strict'"]
)
async def test_a_script_runs_where_the_page_forbids_scripts(visitor: Visitor, script: str) -> None:
    assert await value_of(visitor, script, "/strict") == "Strict"


async def test_a_script_returns_words_where_the_page_broke_its_globals(visitor: Visitor) -> None:
    assert await value_of(visitor, "return document.title", "/broken-globals") == "Broken"


async def test_actions_work_where_the_page_broke_its_globals(visitor: Visitor) -> None:
    results = await do(visitor, "/broken-globals", click("p"), scrape("p"))
    assert results[1].html == "<p>Readable all the same</p>"


async def test_a_script_that_leads_to_another_page_is_followed(visitor: Visitor) -> None:
    page = await visitor.visit("/form", actions=[run("location = '/article'")])
    assert page.final_url == visitor.site.url("/article")


async def test_a_script_that_leaves_before_it_ends_fails_or_is_followed(visitor: Visitor) -> None:
    script = "location = '/article'; await new Promise(resolve => setTimeout(resolve, 60000))"
    async with asyncio.timeout(25):
        error = await refusal(visitor, "/form", run(script))
    assert error.message.startswith("actions[0] (executeJavascript) could not be done: ")


@pytest.mark.parametrize("script", ["await new Promise(() => {})", "for (;;);"])
async def test_a_script_that_does_not_end_fails_in_time(
    visitor: Visitor, browsers: BrowserParts, script: str
) -> None:
    hasty = replace(browsers.visit, wait=replace(browsers.visit.wait, script_seconds=0.3))
    impatient = replace(visitor, parts=replace(browsers, visit=hasty))
    error = await refusal(impatient, "/form", run(script))
    assert "it did not end within 0.3 s (setting scrape.script-timeout-ms)" in error.message
    assert await value_of(visitor, "document.title", "/article")


@pytest.mark.parametrize(
    "script", ["fetch('http://10.1.2.3/')", "await import('http://10.1.2.3/x.js')"]
)
async def test_a_script_that_fails_by_what_was_refused_says_so(
    visitor: Visitor, script: str
) -> None:
    with pytest.raises(EgressBlocked) as caught:
        await do(visitor, "/form", run(script))
    assert "10.1.2.3:80 may not be connected to" in caught.value.message


async def test_an_endless_script_costs_its_own_request_alone(
    visitor: Visitor, website: Site
) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await visitor.visit("/search", actions=[run("while (true);")])
    page = await visitor.visit("/article")
    assert page.final_url == website.url("/article")


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
