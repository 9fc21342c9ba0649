import pytest

from cinder.model.document import Json
from cinder.services.fitting import fit_items, fit_lists, fit_members, fit_text, without_nulls


def test_list_is_cut_to_what_fits() -> None:
    assert fit_items(["aaaa", "bbbb", "cccc"], 16) == ["aaaa", "bbbb"]


def test_cut_lists_are_named_with_their_counts() -> None:
    data: dict[str, Json] = {"links": ["aaaa", "bbbb", "cccc"], "images": ["d"]}
    cut = fit_lists(data, ("links", "images"), 16)
    assert cut == "Only the first 2 of 3 links are shown."
    assert data == {"links": ["aaaa", "bbbb"], "images": ["d"]}


@pytest.mark.parametrize(
    ("text", "fitting"),
    [("abcdef", "abcd"), ("abc", "abc"), ('a"b"c', 'a"b'), ('abc"', "abc"), ("\x01ab", "")],
)
def test_text_is_cut_to_what_fits_when_it_is_escaped(text: str, fitting: str) -> None:
    assert fit_text(text, 4) == fitting


def test_short_members_come_before_long_ones() -> None:
    members: dict[str, Json] = {"long": "x" * 500, "list": ["aaaa"] * 100, "short": "yes"}
    fitting = fit_members(members, 120)
    assert fitting["short"] == "yes"
    assert "long" not in fitting
    assert 0 < len(str(fitting)) <= 120


def test_nulls_are_left_out_at_any_depth() -> None:
    assert without_nulls({"a": None, "b": [None, {"c": None, "d": 1}]}) == {"b": [{"d": 1}]}
