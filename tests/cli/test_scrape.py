"""`cinder scrape`: what of an answer goes to the terminal, and what to a file."""

from pathlib import Path

import pytest

from cinder.api.schemas.scrape import describe_outcome
from cinder.cli.options import parse_actions
from cinder.cli.scrape import outline_text, write_outcome
from cinder.errors import InvalidRequest
from cinder.models.request import Format, ScrapeRequest
from cinder.services.excerpt import TextWindow
from cinder.services.scraping.outcome import ScrapeOutcome
from tests.api.documents import a_page, a_png, fresh, scrape_action, script_action, without_markdown


def write(outcome: ScrapeOutcome, output: Path | None, *formats: Format) -> None:
    request = ScrapeRequest(url=outcome.document.url, formats=formats)
    data = describe_outcome(outcome, request, TextWindow(0, 1_000))
    write_outcome(dict(data), outcome, output)


def test_a_screenshot_is_written_to_its_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = without_markdown(a_page(screenshot=a_png()))
    write(fresh(page), tmp_path / "shot.png", Format.SCREENSHOT)
    assert (tmp_path / "shot.png").read_bytes() == a_png().data
    assert capsys.readouterr().out == ""


def test_a_screenshot_without_a_file_is_told_and_not_printed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    write(fresh(without_markdown(a_page(screenshot=a_png()))), None, Format.FULL_SCREENSHOT)
    shown = capsys.readouterr().out
    assert shown == (
        f"image/png, {len(a_png().data)} bytes. Use --output FILE to write it to a file.\n"
    )


def test_text_is_printed_beside_a_screenshot_that_goes_to_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = fresh(a_page(screenshot=a_png()))
    write(page, tmp_path / "shot.PNG", Format.MARKDOWN, Format.SCREENSHOT)
    assert (tmp_path / "shot.PNG").read_bytes() == a_png().data
    assert capsys.readouterr().out == "Ember\n"


def test_a_text_file_takes_the_text_and_the_screenshot_is_pointed_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = fresh(a_page(screenshot=a_png()))
    write(page, tmp_path / "page.md", Format.MARKDOWN, Format.SCREENSHOT)
    assert (tmp_path / "page.md").read_text() == "Ember\n"
    assert "--output FILE.png" in capsys.readouterr().err


def test_what_actions_brought_follows_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    page = a_page(actions=(scrape_action(), script_action({"n": 1})))
    write(fresh(page), None, Format.MARKDOWN)
    assert capsys.readouterr().out == (
        "Ember\n\nscrape: Scraped the page (0 ms)\nAsh\n\n"
        'executeJavascript: Ran a script (0 ms)\n{"n": 1}\n'
    )


def test_actions_are_given_as_json() -> None:
    assert parse_actions(['{"type": "scrape"}']) == [{"type": "scrape"}]
    with pytest.raises(InvalidRequest, match="--action: Expected JSON"):
        parse_actions(["click #more"])


def test_an_outline_is_indented_and_says_what_is_left_out() -> None:
    headings = [
        {"id": "top", "level": 0, "title": "", "tokens": 1},
        {"id": "a", "level": 1, "title": "A", "tokens": 20},
        {"id": "b", "level": 3, "title": "B", "tokens": 3},
    ]
    assert outline_text(headings, 7) == "top (1)\na (20)  A\n    b (3)  B\nand 7 more"
