"""What a browser brings home, in the answer to a scrape."""

import base64
from dataclasses import replace
from typing import Any

import pytest

from cinder.api.schemas.scrape import describe_outcome
from cinder.errors import Attempt, Diagnostics
from cinder.models.document import Verdict, VerdictKind
from cinder.models.request import Format, ResultHandling, ScrapeRequest
from cinder.services.excerpt import TextWindow
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.api.documents import (
    a_page,
    a_png,
    fresh,
    kept,
    scrape_action,
    screenshot_action,
    script_action,
    without_markdown,
)

PICTURE = a_png()
ENCODED = base64.b64encode(PICTURE.data).decode()


def answer(
    outcome: ScrapeOutcome,
    *formats: Format,
    handling: ResultHandling = ResultHandling.SAVE_AND_RETURN,
    max_chars: int = 1_000,
) -> dict[str, Any]:
    request = ScrapeRequest(
        url=outcome.document.url, formats=formats or (Format.MARKDOWN,), result_handling=handling
    )
    return dict(describe_outcome(outcome, request, TextWindow(0, max_chars)))


def test_a_screenshot_stands_beside_the_text_as_bare_base64() -> None:
    data = answer(kept(a_page(screenshot=PICTURE)), Format.MARKDOWN, Format.SCREENSHOT)
    assert (data["content"], data["screenshot"], data["screenshotFormat"]) == (
        "Ember",
        ENCODED,
        "image/png",
    )
    assert list(data["savedUris"]) == ["raw", "cleaned", "screenshot"]


def test_a_full_page_screenshot_has_a_key_of_its_own_name() -> None:
    page = without_markdown(a_page(screenshot=PICTURE))
    data = answer(fresh(page), Format.FULL_SCREENSHOT)
    assert data["fullscreenshot"] == ENCODED
    assert {"content", "contentType", "screenshot"}.isdisjoint(data)


def test_actions_are_told_in_order_each_with_what_it_brought() -> None:
    actions = (scrape_action(), screenshot_action("after", PICTURE), script_action({"a": [None]}))
    assert answer(fresh(a_page(actions=actions)))["actions"] == [
        {
            "type": "scrape",
            "message": "Scraped the page",
            "elapsedMs": 0,
            "html": "<p>Ash</p>",
            "markdown": "Ash",
        },
        {
            "type": "screenshot",
            "message": "Took a screenshot",
            "elapsedMs": 5,
            "name": "after",
            "screenshot": ENCODED,
            "screenshotFormat": "image/png",
        },
        {
            "type": "executeJavascript",
            "message": "Ran a script",
            "elapsedMs": 0,
            "result": {"a": [None]},
        },
    ]


def test_a_script_without_a_result_says_so() -> None:
    data = answer(fresh(a_page(actions=(script_action(None),))))
    assert data["actions"] == [
        {"type": "executeJavascript", "message": "Ran a script", "elapsedMs": 0, "result": None}
    ]


def test_long_texts_of_actions_are_cut_with_a_notice() -> None:
    actions = (scrape_action(html="<p>" + "ash " * 50), script_action(list(range(100))))
    data = answer(fresh(a_page(actions=actions)), max_chars=20)
    scraped, ran = data["actions"]
    assert (len(scraped["html"]), scraped["markdown"]) == (20, "Ash")
    assert ran["result"] == "[0, 1, 2, 3, 4, 5, 6"
    metadata = data["metadata"]
    assert metadata["wasTruncated"] is True
    assert metadata["continuation"] == (
        "At most the first 20 characters of actions[0].html, actions[1].result are shown. "
        "Ask again with a larger maxChars for all."
    )


def test_save_only_gives_the_uris_alone() -> None:
    page = a_page(screenshot=PICTURE, actions=(screenshot_action(),))
    data = answer(kept(page), Format.SCREENSHOT, handling=ResultHandling.SAVE_ONLY)
    assert {"screenshot", "actions", "content"}.isdisjoint(data)
    assert "screenshot" in data["savedUris"]


def read(markdown: str, window: TextWindow) -> dict[str, Any]:
    outcome = fresh(a_page(markdown=markdown))
    return dict(describe_outcome(outcome, ScrapeRequest(url=outcome.document.url), window))


def test_nothing_follows_the_end_of_a_section() -> None:
    data = read("# Ash\n\nGrey.\n\n# Oak\n\nBrown.", TextWindow(500, 100, "ash"))
    assert data["content"] == ""
    assert data["metadata"]["continuation"] == (
        "The section 'ash' has only 14 characters: nothing follows startIndex 14."
    )


def test_a_window_that_begins_within_code_says_what_opened_it() -> None:
    data = read("```python\n" + "burn()\n" * 50 + "```", TextWindow(101, 80))
    assert data["content"].startswith("burn()\n")
    assert data["metadata"]["continuation"].startswith(
        "It begins inside a code block that was opened with ```python. Characters 101 to "
    )


SHELL = Verdict(VerdictKind.JS_SHELL, "the root is empty")


def test_a_verdict_that_is_not_ok_comes_with_what_shows_it_and_what_to_try() -> None:
    way = Diagnostics((Attempt("native", 5), Attempt("browser", 50)))
    data = answer(replace(fresh(replace(a_page(), verdict=SHELL)), diagnostics=way))
    assert data["tried"] == ["native", "browser"]
    assert (data["verdict"], data["evidence"]) == ("js_shell", "the root is empty")
    assert "Mode dynamic" in data["nextStep"]
    assert {"evidence", "tried", "nextStep"}.isdisjoint(answer(fresh(a_page())))


def test_what_was_not_saved_after_all_is_shown() -> None:
    page = replace(a_page(), verdict=SHELL)
    data = answer(fresh(page), handling=ResultHandling.SAVE_ONLY)
    assert data["content"] == "Ember"
    assert "message" not in data


@pytest.mark.parametrize("max_chars", [7, 40, 150, 10_000])
def test_windows_of_every_text_join_exactly(max_chars: int) -> None:
    markdown = "# Ash\n\n" + "A sentence about ash trees. " * 9 + "\n\n| a | b |\n| - | - |" * 3
    page = a_page(markdown=markdown.strip())
    html = "".join(f"<p>{number}</p>" for number in range(60))
    raw = f"<html>{html}</html>"
    content = replace(page.content, html=html, text=raw)
    outcome = fresh(replace(page, content=content))
    formats = (Format.MARKDOWN, Format.HTML, Format.RAW_HTML)
    request = ScrapeRequest(url=page.url, formats=formats)
    read_so_far = {"content": "", "html": "", "rawHtml": ""}
    start: int | None = 0
    while start is not None:
        data: dict[str, Any] = dict(
            describe_outcome(outcome, request, TextWindow(start, max_chars))
        )
        read_so_far = {name: text + data[name] for name, text in read_so_far.items()}
        start = data["metadata"].get("nextStartIndex")
    assert read_so_far == {"content": markdown.strip(), "html": html, "rawHtml": raw}
