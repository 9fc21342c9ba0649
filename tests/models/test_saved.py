"""The URIs of saved pages."""

from datetime import UTC, datetime

import pytest

from cinder.models.saved import (
    SavedKind,
    Version,
    format_timestamp,
    page_path,
    parse_latest_uri,
    parse_saved_uri,
)

MOMENT = datetime(2025, 11, 15, 18, 30, 0, 123_000, tzinfo=UTC)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://example.com/article", "example.com/article"),
        ("https://example.com/", "example.com"),
        ("https://example.com/a?b=c/d", "example.com/a?b=c/d"),
        ("http://example.com/article", "example.com:80/article"),
        ("http://example.com:8080/article", "example.com:8080/article"),
        ("https://[2001:db8::1]/x", "[2001:db8::1]/x"),
    ],
)
def test_a_place_names_host_path_and_query(url: str, place: str) -> None:
    assert page_path(url) == place


def test_a_uri_leads_back_to_its_version() -> None:
    version = Version("example.com/a?b=c/d", MOMENT)
    uri = version.uri(SavedKind.CLEANED)
    assert uri == "scrape://example.com/a?b=c/d/cleaned_2025-11-15T18:30:00.123Z"
    assert parse_saved_uri(uri) == (version, SavedKind.CLEANED)


def test_a_timestamp_without_milliseconds_is_read_too() -> None:
    version, kind = parse_saved_uri("scrape://example.com/article/raw_2025-11-15T18:30:00Z")
    assert kind is SavedKind.RAW
    assert format_timestamp(version.saved_at) == "2025-11-15T18:30:00.000Z"


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "https://example.com/raw_2025-11-15T18:30:00Z",
        "scrape://raw_2025-11-15T18:30:00Z",
        "scrape://example.com/baked_2025-11-15T18:30:00Z",
        "scrape://example.com/raw_yesterday",
        "scrape://example.com/raw_2025-11-15T18:30:00",
    ],
)
def test_what_is_no_saved_uri_is_refused_with_the_right_form(uri: str) -> None:
    with pytest.raises(ValueError, match="kind_timestamp"):
        parse_saved_uri(uri)


def test_the_newest_version_has_a_uri_that_stays() -> None:
    assert parse_latest_uri("scrape://example.com/a?b=c/d/raw_latest") == (
        "example.com/a?b=c/d",
        SavedKind.RAW,
    )


@pytest.mark.parametrize(
    "uri",
    [
        "https://example.com/raw_latest",
        "scrape://raw_latest",
        "scrape://example.com/baked_latest",
        "scrape://example.com/raw_2025-11-15T18:30:00Z",
    ],
)
def test_other_uris_do_not_name_the_newest_version(uri: str) -> None:
    assert parse_latest_uri(uri) is None
