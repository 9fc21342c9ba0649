"""What was found is held within limits, by content and by what was wanted."""

from dataclasses import replace

from cinder.services.extraction.memory import FindingsMemory, findings_key
from cinder.services.extraction.stages import ReadPage
from tests.services.extraction.findings import findings, value

PAGE = ReadPage(url="https://a/", markdown="# A", text="<h1>A</h1>", content_type="text/html")


def test_what_is_beyond_the_limit_goes_the_longest_unused_first() -> None:
    memory = FindingsMemory(max_values=5)
    found = findings(value(("a",), 1))
    memory.hold("first", found)
    memory.hold("second", found)
    assert memory.find("first") is found
    memory.hold("third", found)
    assert [memory.find(key) for key in ("first", "second", "third")] == [found, None, found]


def test_findings_larger_than_the_memory_are_not_held() -> None:
    memory = FindingsMemory(max_values=0)
    memory.hold("key", findings(value(("a",), 1)))
    assert memory.find("key") is None


def test_the_same_key_is_held_once() -> None:
    memory = FindingsMemory(max_values=4)
    for _ in range(10):
        memory.hold("key", findings(value(("a",), 1)))
    memory.hold("other", findings(value(("a",), 1)))
    assert memory.find("key") is not None


def test_content_wish_and_finder_make_the_key() -> None:
    keys = {
        findings_key("rules-1", PAGE, ("prompt", {"type": "object"})),
        findings_key("rules-2", PAGE, ("prompt", {"type": "object"})),
        findings_key("rules-1", PAGE, ("other", {"type": "object"})),
        findings_key("rules-1", PAGE, ("prompt", {"type": "array"})),
        findings_key("rules-1", replace(PAGE, text="<h1>B</h1>"), ("prompt", {"type": "object"})),
    }
    assert len(keys) == 5
    assert findings_key("rules-1", PAGE, ("prompt", {"a": 1, "b": 2})) == findings_key(
        "rules-1", replace(PAGE), ("prompt", {"b": 2, "a": 1})
    )
