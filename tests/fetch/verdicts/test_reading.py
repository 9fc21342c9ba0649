from cinder.fetch.verdicts.reading import Reading
from cinder.model.document import Extraction, FetchedPage, Source
from tests.fetch.verdicts.readings import STORY, reading


def test_a_page_is_called_by_its_title_the_parts_of_it_and_its_headings() -> None:
    page = reading("<title>Not found | The Site</title><h1>Oh <b>no</b></h1><h4>Small</h4>")
    assert page.names == ("not found | the site", "not found", "the site", "oh no")


def test_a_page_with_much_to_read_is_long() -> None:
    assert reading(f"<p>{STORY * 30}</p>").is_long
    assert reading("<p>Little</p>", word_count=800).is_long
    assert not reading(f"<p>{STORY}</p>").is_long


def test_a_redirect_to_the_same_page_leads_nowhere_else() -> None:
    asked = "http://www.a.example/one"
    assert not reading("", asked=asked, final="https://a.example/one/").was_led_elsewhere
    assert reading("", asked=asked, final="https://a.example/two").was_led_elsewhere
    assert reading("", asked=asked, final="https://b.example/one").was_led_elsewhere


def test_a_page_is_read_in_the_letters_that_it_was_decoded_to() -> None:
    page = FetchedPage(
        url="https://a.example/",
        final_url="https://a.example/",
        status_code=200,
        headers={"content-type": "text/html; charset=windows-1251"},
        body="<p>Страница не найдена</p>".encode("windows-1251"),
        source=Source.NATIVE,
        strategy="native",
    )
    assert (
        Reading(page, Extraction(text="<p>Страница не найдена</p>")).text == "страница не найдена"
    )
