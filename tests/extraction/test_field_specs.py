"""The field tree of a schema."""

from cinder.extraction.field_specs import MAX_FIELDS, FieldKind, read_schema, schema_path
from cinder.models.document import Json


def test_properties_become_fields_with_their_paths() -> None:
    schema: dict[str, Json] = {
        "type": "object",
        "properties": {
            "name": {"type": "string"},
            "address": {"type": "object", "properties": {"city": {"type": ["string", "null"]}}},
            "offers": {
                "type": "array",
                "items": {"type": "object", "properties": {"price": {"type": "number"}}},
            },
        },
    }
    root, cuts = read_schema(schema)
    name, address, offers = root.children
    assert (name.path, name.kind) == ("name", FieldKind.STRING)
    assert (address.children[0].path, address.children[0].kind) == (
        "address.city",
        FieldKind.STRING,
    )
    assert (offers.item.children[0].path, offers.item.children[0].kind) == (
        "offers[].price",
        FieldKind.NUMBER,
    )
    assert cuts == ()


def test_references_and_nullable_choices_are_followed() -> None:
    schema: dict[str, Json] = {
        "properties": {
            "price": {"$ref": "#/$defs/money"},
            "stock": {"anyOf": [{"type": "null"}, {"type": "integer"}]},
        },
        "$defs": {"money": {"type": "number"}},
    }
    root, _ = read_schema(schema)
    assert [field.kind for field in root.children] == [FieldKind.NUMBER, FieldKind.INTEGER]


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema: dict[str, Json] = {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"name": {"type": "string"}, "child": {"$ref": "#/$defs/node"}},
            },
            "a": {"$ref": "#/$defs/b"},
            "b": {"$ref": "#/$defs/a"},
        },
    }
    _, cuts = read_schema(schema)
    assert len(cuts) == 1
    assert read_schema({"$ref": "#/$defs/a", "$defs": schema["$defs"]})[1] == ()


def test_a_giant_schema_is_cut_and_says_so() -> None:
    properties: dict[str, Json] = {f"field{number}": {} for number in range(2 * MAX_FIELDS)}
    root, cuts = read_schema({"type": "object", "properties": properties})
    assert len(root.children) < MAX_FIELDS
    assert str(MAX_FIELDS) in cuts[0]


def test_a_value_has_the_path_that_the_schema_has() -> None:
    assert schema_path(("speakers", 3, "name")) == "speakers[].name"
    assert schema_path((0, "name")) == "[].name"
