from cinder.extract.html_tree import parse_html
from cinder.extract.visibility.scriptless_part import show_scriptless_part

THREAD = "<p>A post that was written by someone who had a question to ask.</p>" * 10


def shown(html: str) -> str:
    body = parse_html(html).body
    assert body is not None
    show_scriptless_part(body)
    return body.inner_html or ""


def test_a_thread_for_visitors_without_scripts_is_shown() -> None:
    html = f"<div id=app>Loading</div><noscript><main>{THREAD}</main></noscript>"

    assert shown(html) == f'<div id="app">Loading</div><main>{THREAD}</main>'


def test_a_request_to_switch_scripts_on_stays_out_of_sight() -> None:
    assert "<noscript>" in shown("<p></p><noscript>Please enable JavaScript.</noscript>")


def test_a_copy_of_what_the_page_shows_stays_out_of_sight() -> None:
    assert "<noscript>" in shown(f"{THREAD}<noscript>{THREAD}</noscript>")
