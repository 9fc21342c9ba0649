"""The data of several pages, merged."""

from collections.abc import Iterable

from cinder.extraction.merging import build_data, keep_grounded, merge_data
from cinder.models.document import Json
from cinder.models.extraction import (
    Conflict,
    Evidence,
    ExtractedData,
    FieldPath,
    FieldValue,
    Grounding,
    Method,
)


def value(path: FieldPath, said: Json, url: str, *, is_grounded: bool = True) -> FieldValue:
    grounding = Grounding.VERIFIED if is_grounded else Grounding.UNVERIFIED
    evidence = Evidence(method=Method.LABEL, quote=str(said), grounding=grounding, url=url)
    return FieldValue(path=path, value=said, evidence=(evidence,))


def page(values: Iterable[FieldValue], *missing: str) -> ExtractedData:
    told = tuple(values)
    return ExtractedData(data=build_data(told, {}), values=told, missing=missing)


def test_the_first_value_counts_and_the_other_is_a_conflict() -> None:
    merged = merge_data([page([value(("a",), 1, "u1")]), page([value(("a",), 2, "u2")])])
    assert merged.data == {"a": 1}
    assert merged.conflicts == (Conflict(path=("a",), kept=1, other=value(("a",), 2, "u2")),)


def test_a_grounded_value_goes_before_one_that_is_not() -> None:
    first = page([value(("a",), 1, "u1", is_grounded=False)])
    merged = merge_data([first, page([value(("a",), 2, "u2")])])
    assert merged.data == {"a": 2}
    assert [conflict.other.value for conflict in merged.conflicts] == [1]


def test_equal_values_keep_the_evidence_of_all_their_pages() -> None:
    merged = merge_data([page([value(("a",), "X", "u1")]), page([value(("a",), "x", "u2")])])
    assert merged.data == {"a": "X"}
    assert [each.url for each in merged.values[0].evidence] == ["u1", "u2"]
    assert merged.conflicts == ()


def test_arrays_are_joined_and_what_stands_in_both_stands_once() -> None:
    one = page([value(("tags", 0), "red", "u1"), value(("tags", 1), "green", "u1")])
    two = page([value(("tags", 0), "Green", "u2"), value(("tags", 1), "blue", "u2")])
    merged = merge_data([one, two])
    assert merged.data == {"tags": ["red", "green", "blue"]}
    assert [[e.url for e in each.evidence] for each in merged.values] == [
        ["u1"],
        ["u1", "u2"],
        ["u2"],
    ]
    assert [each.path for each in merged.values] == [("tags", 0), ("tags", 1), ("tags", 2)]


def test_records_that_say_the_same_are_one() -> None:
    one = page([value(("p", 0, "name"), "Ada", "u1"), value(("p", 0, "age"), 36, "u1")])
    two = page(
        [
            value(("p", 0, "age"), 36, "u2"),
            value(("p", 0, "name"), "Ada", "u2"),
            value(("p", 1, "name"), "Bob", "u2"),
        ]
    )
    assert merge_data([one, two]).data == {"p": [{"name": "Ada", "age": 36}, {"name": "Bob"}]}


def test_what_one_page_lacks_another_may_have() -> None:
    one = page([value(("a",), 1, "u1")], "b", "p")
    two = page([value(("b",), 2, "u2"), value(("p", 0, "x"), 1, "u2")], "a", "p[].y")
    merged = merge_data([one, two])
    assert merged.data == {"a": 1, "b": 2, "p": [{"x": 1}]}
    assert merged.missing == ("p[].y",)


def test_conflicts_of_a_page_stay_with_their_value() -> None:
    other = value(("p", 0, "x"), 9, "u2")
    two = ExtractedData(
        data={"p": [{"x": 2}]},
        values=(value(("p", 0, "x"), 2, "u2"),),
        conflicts=(Conflict(path=("p", 0, "x"), kept=2, other=other),),
    )
    merged = merge_data([page([value(("p", 0, "x"), 1, "u1")]), two])
    assert [(each.path, each.kept, each.other.value) for each in merged.conflicts] == [
        (("p", 1, "x"), 2, 9)
    ]


def test_no_pages_and_empty_pages_give_nothing() -> None:
    assert merge_data([]) == ExtractedData()
    assert merge_data([page([], "a"), page([], "a")]) == ExtractedData(data={}, missing=("a",))


def test_a_whole_that_is_one_value_is_merged_too() -> None:
    one, two = (ExtractedData(data=n, values=(value((), n, "u"),)) for n in (1, 2))
    assert merge_data([one, two]).data == 1


def test_only_what_is_proved_is_left() -> None:
    found = page(
        [
            value(("a",), 1, "u", is_grounded=False),
            value(("tags", 0), "x", "u", is_grounded=False),
            value(("tags", 1), "y", "u"),
        ],
        "b",
    )
    proved = keep_grounded(found)
    assert proved.data == {"tags": ["y"]}
    assert proved.missing == ("b", "a")
    assert [each.path for each in proved.values] == [("tags", 0)]
    assert keep_grounded(proved) is proved
