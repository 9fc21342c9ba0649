from hypothesis import given
from hypothesis import strategies as st

from cinder.app.composition import App
from cinder.models.request import OWNER, ScrapeRequest
from cinder.services.search.fusion import SUMMARY_CHARS
from cinder.services.search.result_ranking import (
    ResultText,
    find_best_passage,
    find_saved_text,
    score_pages,
)
from tests.site import Site

FILLER = "Words about pots and pans and nothing else at all. " * 30


def test_the_page_that_is_about_it_scores_highest() -> None:
    pages = {
        "about": ResultText(
            markdown="Bank the coals. Coals banked in ash stay alive.", title="Coals"
        ),
        "mention": ResultText(markdown=f"{FILLER}\n\nSome coals."),
        "other": ResultText(markdown=FILLER),
    }
    scores = score_pages("bank coals", pages)
    assert 1 >= scores["about"].score > scores["mention"].score > scores["other"].score == 0
    assert scores["about"].passage == "Bank the coals. Coals banked in ash stay alive."
    assert scores["other"].passage == ""


def test_of_a_long_paragraph_the_part_that_matches_is_shown() -> None:
    passage = find_best_passage(
        f"{FILLER[:700]} To bank coals, cover them. {FILLER[:200]}", "bank coals"
    )
    assert "To bank coals, cover them." in passage
    assert len(passage) <= SUMMARY_CHARS
    assert passage.startswith("…")


def test_a_table_is_told_without_its_lines() -> None:
    table = "| Wood | Hours |\n| --- | ---: |\n| Oak | 9 |\n| Birch | 5 |"
    assert find_best_passage(table, "oak") == "Wood Hours Oak 9 Birch 5"


def test_no_pages_have_no_scores() -> None:
    assert score_pages("coals", {}) == {}


@given(st.text(max_size=60), st.text(max_size=400))
def test_any_text_has_a_score(query: str, markdown: str) -> None:
    score = score_pages(query, {"page": ResultText(markdown=markdown)})["page"].score
    assert 0 <= score <= 1


async def test_the_text_of_a_page_that_is_kept_is_found(app: App, site: Site) -> None:
    await app.scrape.scrape(ScrapeRequest(url=site.url("/article")))
    text = await find_saved_text(app.archive, site.url("/article"), OWNER)
    assert text is not None
    assert text.startswith("# Ember care")
    assert await find_saved_text(app.archive, site.url("/other"), OWNER) is None


async def test_what_came_with_credentials_is_found_by_its_owner_alone(app: App, site: Site) -> None:
    request = ScrapeRequest(
        url=site.url("/article"), headers=(("Authorization", "Bearer x"),), caller="another"
    )
    await app.scrape.scrape(request)
    assert await find_saved_text(app.archive, site.url("/article"), "another") is not None
    assert await find_saved_text(app.archive, site.url("/article"), OWNER) is None
