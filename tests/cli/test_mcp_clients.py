"""Entries in TOML and JSON files."""

import json
import tomllib

import pytest

from cinder.cli.mcp import (
    ConfigEntry,
    UnmergeableConfig,
    merge_json,
    merge_toml,
    show_json,
    show_toml,
)

ENTRY: ConfigEntry = {"command": "/a b/cinder", "args": ["mcp"]}
BEFORE = """# Mine
model = "o"  # the large one

[mcp_servers.other]
command = "x"
"""


def merge(text: str, entry: ConfigEntry = ENTRY) -> str:
    return merge_toml(text, "mcp_servers", "cinder", entry)


def test_a_file_that_is_not_there_gets_the_table_alone() -> None:
    assert merge("") == show_toml("mcp_servers", "cinder", ENTRY)
    assert tomllib.loads(merge("")) == {"mcp_servers": {"cinder": ENTRY}}


def test_a_table_is_put_at_the_end_and_all_else_stays_as_it_is() -> None:
    merged = merge(BEFORE)
    assert merged.startswith(BEFORE)
    assert tomllib.loads(merged)["mcp_servers"]["cinder"] == ENTRY


def test_a_text_that_has_it_already_is_not_touched() -> None:
    merged = merge(BEFORE)
    assert merge(merged) == merged


def test_a_changed_table_is_replaced_without_the_comments_of_the_next() -> None:
    old = '[mcp_servers.cinder]\ncommand = "y"\n\n[mcp_servers.cinder.env]\nA = "1"\n\n# Theirs\n'
    merged = merge(old + BEFORE.partition("\n\n")[2])
    assert "# Theirs\n[mcp_servers.other]" in merged
    assert tomllib.loads(merged)["mcp_servers"] == {"other": {"command": "x"}, "cinder": ENTRY}


def test_what_was_added_to_the_table_is_kept() -> None:
    old = (
        '[mcp_servers.cinder]\ncommand = "y"\nargs = ["mcp"]\nenv = { A = "1" }\nenabled = false\n'
    )
    assert tomllib.loads(merge(old))["mcp_servers"]["cinder"] == {
        **ENTRY,
        "env": {"A": "1"},
        "enabled": False,
    }


def test_texts_and_names_are_written_so_that_they_are_read_again() -> None:
    entry: ConfigEntry = {"http_headers": {"X a": 'q"\\\u007f\n'}}
    written = show_toml("mcp_servers", "my cinder", entry)
    assert tomllib.loads(written) == {"mcp_servers": {"my cinder": entry}}


@pytest.mark.parametrize(
    "text",
    [
        "model = ",
        "mcp_servers = 1",
        'mcp_servers = { other = { command = "x" } }',
        '[mcp_servers]\ncinder = { command = "x" }',
        "[mcp_servers.cinder] # mine\na = 1",
        "[mcp_servers.cinder]\nsince = 2026-11-16",
    ],
)
def test_what_could_not_be_kept_is_refused(text: str) -> None:
    with pytest.raises(UnmergeableConfig):
        merge(text)


JSON_ENTRY: ConfigEntry = {"command": "cinder", "args": ["mcp"]}


def test_a_file_that_is_not_there_gets_the_entry_alone() -> None:
    assert merge_json("", "mcpServers", "cinder", JSON_ENTRY) == show_json(
        "mcpServers", "cinder", JSON_ENTRY
    )


def test_all_else_is_kept_in_its_order_and_indentation() -> None:
    text = (
        '{\n\t"theme": "Größe",\n\t"mcpServers": {"other": {"command": "x"}},\n\t"last": 1.50\n}\n'
    )
    merged = merge_json(text, "mcpServers", "cinder", JSON_ENTRY)
    before, after = json.loads(text), json.loads(merged)
    assert after.pop("mcpServers") == {"other": {"command": "x"}, "cinder": JSON_ENTRY}
    assert after == {key: value for key, value in before.items() if key != "mcpServers"}
    assert list(json.loads(merged)) == ["theme", "mcpServers", "last"]
    assert '\n\t"theme": "Größe"' in merged


def test_json_that_has_it_already_is_not_touched() -> None:
    text = '{"mcpServers": {"cinder": {"args": ["mcp"], "command": "cinder"}}}'
    assert merge_json(text, "mcpServers", "cinder", JSON_ENTRY) == text


def test_what_was_added_to_the_entry_is_kept() -> None:
    old = {"command": "/old", "args": ["mcp"], "env": {"A": "1"}, "disabled": True}
    text = json.dumps({"mcpServers": {"cinder": old}})
    merged = merge_json(text, "mcpServers", "cinder", JSON_ENTRY)
    assert json.loads(merged)["mcpServers"]["cinder"] == {
        **JSON_ENTRY,
        "env": {"A": "1"},
        "disabled": True,
    }


def test_another_way_to_the_server_replaces_the_old_one_whole() -> None:
    bridge = {"command": "npx", "args": ["mcp-remote"], "env": {"AUTHORIZATION": "Bearer T"}}
    text = json.dumps({"mcpServers": {"cinder": bridge}})
    merged = merge_json(text, "mcpServers", "cinder", JSON_ENTRY)
    assert json.loads(merged) == {"mcpServers": {"cinder": JSON_ENTRY}}


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
def test_json_that_could_not_be_kept_is_refused(text: str) -> None:
    with pytest.raises(UnmergeableConfig):
        merge_json(text, "mcpServers", "cinder", JSON_ENTRY)
