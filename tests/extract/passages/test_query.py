from cinder.extract.fields.wanted import read_schema
from cinder.extract.passages.aspects import MAX_ASPECTS, find_aspects
from cinder.extract.passages.query import query_for
from cinder.model.document import Json
from cinder.model.passage import AskedField, PassageQuery, Sign

SCHEMA: dict[str, Json] = {
    "properties": {
        "address": {"properties": {"city": {"type": "string", "description": "where it is"}}},
        "contactEmail": {"type": "string"},
        "offers": {"type": "array", "items": {"properties": {"price": {"type": "number"}}}},
    }
}


def test_fields_are_asked_for_with_what_they_belong_to_and_what_tells_them() -> None:
    address, email, offers = read_schema(SCHEMA)[0].children
    query = query_for("Which shop?", [address.children[0], email, offers])
    assert query == PassageQuery(
        prompt="Which shop?",
        fields=(
            AskedField(name="address city", description="where it is"),
            AskedField(name="contactEmail", sign=Sign.AT),
            AskedField(name="offers"),
            AskedField(name="offers price", sign=Sign.FIGURE),
        ),
    )


def test_an_aspect_has_the_fields_words_first_and_synonyms_for_less() -> None:
    (aspect,) = find_aspects(PassageQuery(fields=(AskedField(name="price"),)))
    assert aspect.terms["pric"] == 1
    assert 0 < aspect.terms["cost"] < 1


def test_words_that_say_little_count_for_little() -> None:
    (aspect,) = find_aspects(PassageQuery(fields=(AskedField(name="totalWeight"),)))
    assert aspect.terms["total"] < aspect.terms["weight"]


def test_a_question_without_words_has_no_aspects_and_a_long_one_not_too_many() -> None:
    assert find_aspects(PassageQuery(prompt="?!", fields=(AskedField(name="--"),))) == []
    many = tuple(AskedField(name=f"field{number}") for number in range(300))
    assert len(find_aspects(PassageQuery(prompt="x", fields=many))) == MAX_ASPECTS + 1
