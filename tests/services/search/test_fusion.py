import pytest

from cinder.models.search import SearchHit
from cinder.services.search.fusion import (
    SUMMARY_CHARS,
    RankedHits,
    cut_words,
    fuse,
    parse_result_url,
)
from tests.services.search.doubles import NOW, hit, hits


def ranked(provider: str, *found: SearchHit, **facts: object) -> RankedHits:
    return RankedHits(provider=provider, hits=found, **facts)  # type: ignore[arg-type]


def test_one_list_keeps_its_order_and_its_first_has_all_the_relevance() -> None:
    found = [hit(1, title="Nothing of it", summary=""), hit(2), hit(3)]
    fused = fuse([ranked("web", *found)], "coals")
    assert [each.address.url[-1] for each in fused] == ["1", "2", "3"]
    assert fused[0].relevance == 1
    assert fused[0].relevance > fused[1].relevance > fused[2].relevance > 0.9


def test_what_several_found_comes_first() -> None:
    lists = [
        ranked("first", hit(1), hit(5)),
        ranked("second", hit(2), hit(5)),
        ranked("third", hit(3), hit(5)),
    ]
    fused = fuse(lists, "coals")
    assert fused[0].address.url == "https://a.example/5"
    assert fused[0].providers == ("first", "second", "third")
    assert fused[0].relevance > 0.95
    assert [each.address.url[-1] for each in fused[1:]] == ["1", "2", "3"]


def test_near_duplicates_are_one_and_keep_what_is_best_of_each() -> None:
    lists = [
        ranked("first", SearchHit(url="http://www.a.example/1/", title="", summary="Read more")),
        ranked(
            "second",
            SearchHit(
                url="https://a.example/1?utm_source=x",
                title="Coals",
                summary="How to bank coals.",
                published_at=NOW,
            ),
        ),
    ]
    (only,) = fuse(lists, "bank coals")
    assert only.address.url == "https://a.example/1"
    assert (only.title, only.summary) == ("Coals", "How to bank coals.")
    assert only.published_at == NOW
    assert only.relevance == 1


def test_a_list_that_matches_loosely_does_not_push_its_own_between() -> None:
    loose = [hit(n, "memory.example", title="Pots", summary="Pans") for n in range(1, 6)]
    fused = fuse([ranked("local", *loose), ranked("web", *hits(5))], "coals")
    assert [each.providers[0] for each in fused] == ["web"] * 5 + ["local"] * 5


def test_later_pages_count_from_where_they_stand() -> None:
    first = fuse([ranked("web", *hits(10))], "coals")
    second = fuse([ranked("web", hit(11), first_rank=10)], "coals")
    assert second[0].relevance < first[-1].relevance


def test_other_words_weigh_less_than_the_callers() -> None:
    lists = [
        ranked("web", hit(1), query="coals"),
        ranked("web", hit(2), query="coals embers", weight=0.5),
    ]
    assert [each.address.url[-1] for each in fuse(lists, "coals")] == ["1", "2"]


def test_what_is_no_page_is_dropped_and_texts_are_cleared() -> None:
    odd = hit(1, title="Co\x00als\n of\x1b[2J fire", summary="word " * 500)
    (only,) = fuse([ranked("web", hit(2, url="javascript:alert(1)"), odd)], "coals")
    assert only.title == "Co als of [2J fire"
    assert len(only.summary) <= SUMMARY_CHARS
    assert only.summary.endswith("word…")


def test_a_result_without_a_title_is_called_by_its_address() -> None:
    (only,) = fuse([ranked("web", hit(1, title="  "))], "coals")
    assert only.title == "https://a.example/1"


def test_a_cut_falls_between_words_where_there_are_any() -> None:
    assert cut_words("one two three", 9) == "one two…"
    assert cut_words("x" * 20, 9) == "xxxxxxxx…"
    assert cut_words("short", 9) == "short"


SPELLINGS = [
    "https://a.example/coals",
    "http://a.example/coals",
    "https://www.a.example/coals/",
    "HTTPS://A.Example:443/coals?utm_source=feed#part",
    "a.example/coals",
]


def test_spellings_of_one_page_share_key_and_id() -> None:
    addresses = [parse_result_url(url) for url in SPELLINGS]
    assert {address and address.key for address in addresses} == {"a.example/coals"}
    assert len({address and address.id for address in addresses}) == 1


def test_other_pages_have_other_ids() -> None:
    urls = ["https://a.example/", "https://a.example/coals?id=1", "https://b.example/coals"]
    addresses = [parse_result_url(url) for url in (*urls, SPELLINGS[0])]
    assert len({address and address.id for address in addresses}) == 4


def test_a_result_leads_to_the_page_without_what_tracks_its_reader() -> None:
    address = parse_result_url("https://www.a.example/coals?utm_source=feed&id=1#part")
    assert address is not None
    assert (address.url, address.domain) == ("https://www.a.example/coals?id=1", "a.example")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "ftp://a.example/", "", "https://u:p@a/"])
def test_what_is_no_page_of_the_web_is_none(url: str) -> None:
    assert parse_result_url(url) is None
