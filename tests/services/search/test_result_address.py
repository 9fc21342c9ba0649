import pytest

from cinder.services.search.result_address import read_result_address

SPELLINGS = [
    "https://a.example/coals",
    "http://a.example/coals",
    "https://www.a.example/coals/",
    "HTTPS://A.Example:443/coals?utm_source=feed#part",
    "a.example/coals",
]


def test_spellings_of_one_page_share_key_and_id() -> None:
    addresses = [read_result_address(url) for url in SPELLINGS]
    assert {address and address.key for address in addresses} == {"a.example/coals"}
    assert len({address and address.id for address in addresses}) == 1


def test_other_pages_have_other_ids() -> None:
    urls = ["https://a.example/", "https://a.example/coals?id=1", "https://b.example/coals"]
    addresses = [read_result_address(url) for url in (*urls, SPELLINGS[0])]
    assert len({address and address.id for address in addresses}) == 4


def test_a_result_leads_to_the_page_without_what_tracks_its_reader() -> None:
    address = read_result_address("https://www.a.example/coals?utm_source=feed&id=1#part")
    assert address is not None
    assert (address.url, address.domain) == ("https://www.a.example/coals?id=1", "a.example")


@pytest.mark.parametrize("url", ["javascript:alert(1)", "ftp://a.example/", "", "https://u:p@a/"])
def test_what_is_no_page_of_the_web_is_none(url: str) -> None:
    assert read_result_address(url) is None
