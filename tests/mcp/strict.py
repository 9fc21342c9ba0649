"""What a client must send that is held to a tool's schema strictly: every property there is."""

from typing import Any

from cinder.mcp.schema import Schema
from tests.mcp.test_tool_calls import nodes


def give_everything(schema: Schema, wanted: dict[str, Any]) -> dict[str, Any]:
    """Return arguments that name all properties, those that nobody wants as empty as can be."""
    return {name: _nothing(node) for name, node in schema["properties"].items()} | wanted


def find_open_objects(schema: Schema) -> list[Schema]:
    """Return the objects to which a strict client cannot be held: they name nothing they hold."""
    objects = [node for node in nodes(schema) if node["type"] == "object"]
    return [
        node
        for node in objects
        if not node.get("properties") or node.get("additionalProperties", False) is not False
    ]


def _nothing(node: Schema) -> Any:
    """Return the value that says least: empty, or where one must be chosen the default."""
    choices = node.get("enum", [])
    match node["type"]:
        case "string" if choices:
            return node.get("default", choices[0])
        case "boolean":
            return node.get("default", False)
        case "object":
            return give_everything(node, {})
        case kind:
            return {"string": "", "integer": 0, "number": 0, "array": []}[kind]
