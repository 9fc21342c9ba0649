from cinder.models.extraction import RankedPassage
from cinder.services.extraction.field_searches import plan_searches
from cinder.services.extraction.model_prompts import format_passages, make_prompt


def passage(text: str, start: int, heading: str = "Tea", context: str = "") -> RankedPassage:
    return RankedPassage(
        id="p", heading=heading, text=text, start=start, end=0, score=1, context=context
    )


def test_passages_stand_in_the_order_of_the_page_under_their_headings() -> None:
    head = "| Tea | Price |\n| --- | --- |"
    shown = format_passages(
        [passage("| Oolong | 3 |\n", 90, context=head), passage("Green.", 5), passage("A", 0, "")]
    )
    assert shown == f"A\n\n(Tea)\nGreen.\n\n{head}\n| Oolong | 3 |"


def test_the_answer_has_a_value_and_a_quote_for_each_field_and_nothing_else() -> None:
    schema = {"properties": {"price": {"type": "number", "description": "in euros"}}}
    searches, _ = plan_searches(schema, ("price",))
    prompt = make_prompt("", searches, [passage("Green.", 5)])
    assert prompt.schema == {
        "type": "object",
        "properties": {
            "price": {
                "type": "object",
                "properties": {"value": {"type": "number"}, "quote": {"type": "string"}},
                "required": ["value", "quote"],
            }
        },
        "required": ["price"],
    }
    assert "- price (number; in euros)" in prompt.user
    assert "What is wanted" not in prompt.user
