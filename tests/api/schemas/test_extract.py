"""Answers to extractions: what is shown, and what is left out where there is no room."""

import json
from typing import Any

from cinder.api.schemas.extract import describe_extract
from cinder.models.document import Verdict, VerdictKind
from cinder.models.extraction import (
    ExtractAnswer,
    ExtractedData,
    ExtractionEngine,
    FallbackPassages,
    ModelUsage,
    OfferedPassage,
    PageSource,
)
from tests.services.extraction.findings import findings, value

OK = PageSource(url="https://a/", final_url="https://a/", verdict=Verdict(), uri="scrape://a/x")


def answer_of(extracted: ExtractedData, **more: Any) -> ExtractAnswer:
    said: dict[str, Any] = {"sources": (OK,), "engines": (ExtractionEngine.RULES,), **more}
    return ExtractAnswer(extracted=extracted, **said)


def test_nothing_is_shown_that_is_not_there() -> None:
    shown = describe_extract(answer_of(findings(value(("offers", 0, "price"), 1))), 10_000)
    assert shown == {
        "data": {"offers": [{"price": 1}]},
        "proof": [
            {
                "path": "offers[0].price",
                "grounding": "verified",
                "method": "label",
                "url": "https://a/",
                "quote": "1",
            }
        ],
        "missing": [],
        "sources": [{"url": "https://a/", "verdict": "ok", "uri": "scrape://a/x"}],
        "engine": "rules",
    }


def test_a_value_that_fits_only_so_far_says_so() -> None:
    found = findings(value(("name",), "Kettle"), value(("smith",), "Kettle", score=0.66))
    shown: dict[str, Any] = describe_extract(answer_of(found), 10_000)
    assert [each.get("fit") for each in shown["proof"]] == [None, 0.66]


def test_what_the_model_took_is_told() -> None:
    usage = ModelUsage(model="ember-1", calls=2, tokens=36)
    engines = (ExtractionEngine.RULES, ExtractionEngine.MODEL)
    shown = describe_extract(answer_of(findings(), engines=engines, usage=usage), 10_000)
    assert (shown["engine"], shown["model"]) == ("rules+model", "ember-1")
    assert shown["usage"] == {"calls": 2, "tokens": 36}


def test_a_page_that_is_none_says_what_to_do() -> None:
    source = PageSource(
        url="https://a/",
        final_url="https://b/",
        verdict=Verdict(VerdictKind.LOGIN_WALL, "a form"),
        error="It is not the page that was asked for.",
    )
    shown = describe_extract(answer_of(findings(), sources=(source,)), 10_000)
    (told,) = json.loads(json.dumps(shown["sources"]))
    assert told["finalUrl"] == "https://b/"
    assert (told["verdict"], told["evidence"]) == ("login_wall", "a form")
    assert told["nextStep"]
    assert told["error"]


def test_a_long_answer_is_cut_and_says_so_but_keeps_the_fallback_passages() -> None:
    values = [value(("names", n), f"a name of some length, number {n}") for n in range(200)]
    passages = tuple(
        OfferedPassage(id=f"1-{n}", url="https://a/", heading="", text="word " * 100)
        for n in range(8)
    )
    fallback_passages = FallbackPassages(
        fields=("smith",), passages=passages, schema=None, instruction="Look."
    )
    found = findings(*values, missing=("smith",))
    shown: dict[str, Any] = describe_extract(
        answer_of(found, fallback_passages=fallback_passages), 15_000
    )
    assert len(json.dumps(shown, ensure_ascii=False)) <= 15_000
    assert len(shown["data"]["names"]) == 200
    assert 0 < len(shown["proof"]) < 200
    assert shown["handOff"]["passages"]
    assert "of 200 values of the proof" in shown["warnings"][0]


def test_data_beyond_all_room_is_cut_to_its_first_items() -> None:
    values = [value(("names", n), f"a name of some length, number {n}") for n in range(500)]
    shown: dict[str, Any] = describe_extract(answer_of(findings(*values)), 5_000)
    assert len(json.dumps(shown, ensure_ascii=False)) <= 5_000
    assert 0 < len(shown["data"]["names"]) < 500
    assert any("data is too long" in each for each in shown["warnings"])


def test_a_schema_that_is_no_object_is_missing_as_a_whole() -> None:
    shown = describe_extract(answer_of(ExtractedData(data=[], missing=("",))), 5_000)
    assert (shown["data"], shown["missing"]) == ([], ["(all)"])
