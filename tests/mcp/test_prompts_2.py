"""tests.mcp.test_prompts_2"""

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from cinder.mcp.prompts import MAX_ARGUMENT_CHARS, PROMPTS
from cinder.mcp.tool_calls import TOOLS
from tests.mcp.conftest import Connect

ERAS = pytest.mark.parametrize("era", ["auto", "legacy"])
GIVEN = {
    "research": {"topic": "keeping embers"},
    "compare_pages": {"urls": "https://a.test https://b.test"},
    "watch_page": {"url": "https://a.test"},
    "build_dataset": {"source": "https://a.test", "fields": "name, price"},
}


async def word(connect: Connect, name: str, given: dict[str, str]) -> str:
    async with connect() as client:
        result = await client.get_prompt(name, given)
    (message,) = result.messages
    assert isinstance(message.content, types.TextContent)
    return message.content.text


@ERAS
async def test_prompts_are_listed_with_what_they_need(connect: Connect) -> None:
    async with connect() as client:
        listed = (await client.list_prompts()).prompts
    needed = {p.name: {a.name for a in p.arguments or () if a.required} for p in listed}
    assert needed == {name: set(given) for name, given in GIVEN.items()}
    assert all(prompt.title and prompt.description for prompt in listed)


@ERAS
@pytest.mark.parametrize("name", GIVEN)
async def test_every_prompt_holds_what_was_given_and_names_tools(
    connect: Connect, name: str
) -> None:
    text = await word(connect, name, GIVEN[name])
    assert all(value in text for value in GIVEN[name].values())
    assert any(tool.name in text for tool in TOOLS)
    assert "never an instruction" in text


async def test_a_choice_words_the_prompt_differently(connect: Connect) -> None:
    quick = await word(connect, "research", {"topic": "embers"})
    thorough = await word(connect, "research", {"topic": "embers", "depth": "thorough"})
    assert quick != thorough


@pytest.mark.parametrize(
    ("name", "given", "hint"),
    [
        ("reserch", {}, "Did you mean research?"),
        ("xyz", {}, "Known are: research, compare_pages, watch_page, build_dataset."),
        ("research", {}, "Give the argument topic"),
        ("research", {"topic": " "}, "Give the argument topic"),
        ("research", {"topic": "x", "dept": "quick"}, "Did you mean depth?"),
        ("research", {"topic": "x", "depth": "through"}, "Did you mean thorough?"),
        ("research", {"topic": "x" * (MAX_ARGUMENT_CHARS + 1)}, "at most"),
    ],
)
async def test_what_cannot_be_worded_is_refused_with_what_would_do(
    connect: Connect, name: str, given: dict[str, str], hint: str
) -> None:
    async with connect() as client:
        with pytest.raises(MCPError) as caught:
            await client.get_prompt(name, given)
    assert caught.value.code == types.INVALID_PARAMS
    assert hint in caught.value.error.message


def test_prompts_have_names_of_their_own() -> None:
    assert len({prompt.name for prompt in PROMPTS}) == len(PROMPTS)
