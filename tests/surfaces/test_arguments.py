import pytest

from cinder.errors import InvalidRequest
from cinder.surfaces.arguments import parse_json_strings, read_arguments
from cinder.surfaces.page_arguments import PageArguments
from cinder.surfaces.scrape_arguments import SCRAPE_CHECKS, ScrapeArguments


def problems(given: object) -> dict[str, str]:
    with pytest.raises(InvalidRequest) as failure:
        read_arguments(ScrapeArguments, given, *SCRAPE_CHECKS)
    return {problem.field: problem.message for problem in failure.value.problems}


def test_an_unknown_key_of_a_nested_object_is_named_with_its_neighbour() -> None:
    found = problems({"url": "a.example", "actions": [{"type": "wait", "miliseconds": 5}]})
    assert found["actions[0].miliseconds"] == "Unknown key. Did you mean 'milliseconds'?"


def test_a_key_like_no_other_is_answered_with_all_there_are() -> None:
    with pytest.raises(InvalidRequest) as failure:
        read_arguments(PageArguments, {"url": "a.example", "zzzzzz": 1})
    message = failure.value.problems[0].message
    assert (
        message
        == "Unknown key. Known are: includeMetadata, mode, query, returnFormat, section, url"
    )


@pytest.mark.parametrize("given", [None, [], "url", 5])
def test_what_is_no_object_is_said(given: object) -> None:
    assert list(problems(given)) == ["(request)"]


def test_lists_and_objects_may_come_as_json_in_a_string() -> None:
    given = {"url": "a.example", "formats": '["links"]', "headers": '{"X": "1"}', "maxChars": 5}
    unpacked = parse_json_strings(ScrapeArguments, given)
    assert unpacked["formats"] == ["links"]
    assert unpacked["headers"] == {"X": "1"}


def test_a_text_that_looks_like_json_stays_a_text() -> None:
    given = {"url": "[1]", "extract": '{"a": 1}', "formats": "[broken"}
    assert parse_json_strings(ScrapeArguments, given) == given
