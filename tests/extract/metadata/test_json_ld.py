"""JSON-LD as pages really write it."""

import pytest

from cinder.extract.html_tree import parse_html
from cinder.extract.metadata.json_ld import read_json_ld
from cinder.model.document import Json


def json_ld_of(text: str) -> tuple[dict[str, Json], ...]:
    html = f'<script type="application/ld+json">{text}</script>'
    return read_json_ld(parse_html(html).css("script"))


def test_lists_and_graphs_are_flattened() -> None:
    assert json_ld_of('[{"a": 1}, {"@graph": [{"b": 2}, {"c": 3}, "text"]}]') == (
        {"a": 1},
        {"b": 2},
        {"c": 3},
    )


def test_wrappers_and_raw_line_breaks_are_forgiven() -> None:
    assert json_ld_of('//<![CDATA[\n{"a": "x\ny"};\n//]]>') == ({"a": "x\ny"},)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": }',
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 10_000 + "}",
        '{"a":' * 20_000 + "1" + "}" * 20_000,
        '{"a":' * 40 + "1" + "}" * 40,
        "[" * 1_000_000,
        "",
    ],
)
def test_what_cannot_be_read_is_skipped(text: str) -> None:
    assert json_ld_of(text) == ()


def test_a_lone_surrogate_is_replaced() -> None:
    assert json_ld_of('{"a": "\\ud800"}') == ({"a": "?"},)
