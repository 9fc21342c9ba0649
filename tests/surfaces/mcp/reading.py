"""Reading results: the parts of a tool's answer by what they are."""

import mcp_types as types


def text_of(result: types.CallToolResult) -> str:
    """Return all text that a reader of the content alone sees."""
    return "\n".join(_text(block) for block in result.content)


def error_of(result: types.CallToolResult) -> str:
    """Return the text of a failure."""
    assert result.is_error, result
    return text_of(result)


def kinds_of(result: types.CallToolResult) -> list[str]:
    return [block.type for block in result.content]


def _text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.EmbeddedResource(resource=types.TextResourceContents() as contents):
            return contents.text
        case _:
            return ""
