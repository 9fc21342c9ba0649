"""Reading results: the parts of a tool's answer by what they are."""

import json
import re

import mcp_types as types

from cinder.mcp.results import UNTRUSTED_META_KEY

_LINE_BEFORE = re.compile(r"\[untrusted ([0-9a-f]{16}): [^\n]*\]\n?")


def text_of(result: types.CallToolResult) -> str:
    """Return all text that a reader of the content alone sees."""
    return "\n".join(_text(block) for block in result.content)


def error_of(result: types.CallToolResult) -> str:
    """Return the text of a failure."""
    assert result.is_error, result
    return text_of(result)


def kinds_of(result: types.CallToolResult) -> list[str]:
    return [block.type for block in result.content]


def unmarked(result: types.CallToolResult) -> types.CallToolResult:
    """Return a result without the boundary of untrusted content, having checked it."""
    blocks = list(result.content)
    resources = (types.EmbeddedResource, types.ResourceLink)
    leading = sum(isinstance(block, resources) for block in blocks)
    assert all(isinstance(block, resources) for block in blocks[:leading])
    first, last = blocks[leading], blocks[-1]
    assert isinstance(first, types.TextContent)
    assert isinstance(last, types.TextContent)
    if len(blocks) == 1 and first.text.startswith("{"):
        return result.model_copy(update={"content": [_unmarked_object(first)]})
    found = _LINE_BEFORE.match(first.text)
    assert found is not None, first.text
    assert (result.meta or {})[UNTRUSTED_META_KEY] == found[1]
    blocks[leading] = first = first.model_copy(update={"text": first.text[found.end() :]})
    last = first if len(blocks) == leading + 1 else last
    end = f"[end of untrusted {found[1]}]"
    assert last.text.endswith(end)
    rest = last.text.removesuffix(end).removesuffix("\n")
    blocks[-1] = last.model_copy(update={"text": rest})
    kept = [b for b in blocks if not isinstance(b, types.TextContent) or b.text]
    return result.model_copy(update={"content": kept})


def _unmarked_object(block: types.TextContent) -> types.TextContent:
    data = json.loads(block.text)
    names = list(data)
    assert (names[0], names[-1]) == ("untrusted", "untrustedEnd")
    assert data.pop("untrusted").startswith(f"{data.pop('untrustedEnd')}: ")
    return block.model_copy(update={"text": json.dumps(data, ensure_ascii=False)})


def _text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.EmbeddedResource(resource=types.TextResourceContents() as contents):
            return contents.text
        case _:
            return ""
