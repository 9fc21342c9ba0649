"""Entries in JSON files."""

import json

import pytest

from cinder.cli.mcp_clients import ConfigEntry, UnmergeableConfig, merge_json, show_json

ENTRY: ConfigEntry = {"command": "cinder", "args": ["mcp"]}


def test_a_file_that_is_not_there_gets_the_entry_alone() -> None:
    assert merge_json("", "mcpServers", "cinder", ENTRY) == show_json("mcpServers", "cinder", ENTRY)


def test_all_else_is_kept_in_its_order_and_indentation() -> None:
    text = (
        '{\n\t"theme": "Größe",\n\t"mcpServers": {"other": {"command": "x"}},\n\t"last": 1.50\n}\n'
    )
    merged = merge_json(text, "mcpServers", "cinder", ENTRY)
    before, after = json.loads(text), json.loads(merged)
    assert after.pop("mcpServers") == {"other": {"command": "x"}, "cinder": ENTRY}
    assert after == {key: value for key, value in before.items() if key != "mcpServers"}
    assert list(json.loads(merged)) == ["theme", "mcpServers", "last"]
    assert '\n\t"theme": "Größe"' in merged


def test_a_text_that_has_it_already_is_not_touched() -> None:
    text = '{"mcpServers": {"cinder": {"args": ["mcp"], "command": "cinder"}}}'
    assert merge_json(text, "mcpServers", "cinder", ENTRY) == text


def test_what_was_added_to_the_entry_is_kept() -> None:
    old = {"command": "/old", "args": ["mcp"], "env": {"A": "1"}, "disabled": True}
    text = json.dumps({"mcpServers": {"cinder": old}})
    merged = merge_json(text, "mcpServers", "cinder", ENTRY)
    assert json.loads(merged)["mcpServers"]["cinder"] == {
        **ENTRY,
        "env": {"A": "1"},
        "disabled": True,
    }


def test_another_way_to_the_server_replaces_the_old_one_whole() -> None:
    bridge = {"command": "npx", "args": ["mcp-remote"], "env": {"AUTHORIZATION": "Bearer T"}}
    text = json.dumps({"mcpServers": {"cinder": bridge}})
    merged = merge_json(text, "mcpServers", "cinder", ENTRY)
    assert json.loads(merged) == {"mcpServers": {"cinder": ENTRY}}


@pytest.mark.parametrize(
    "text",
    [
        '{\n  // a comment\n  "a": 1\n}',
        '{"a": 1,}',
        '{"a": 1, "a": 2}',
        "[]",
        '{"mcpServers": []}',
        "[" * 100_000,
        "\ufeff{}",
    ],
)
def test_what_could_not_be_kept_is_refused(text: str) -> None:
    with pytest.raises(UnmergeableConfig):
        merge_json(text, "mcpServers", "cinder", ENTRY)
