"""The templates that only measure: they differ in markup, wording and formats from the tuned ones."""

import json
from collections.abc import Callable
from html import escape
from random import Random

from tests.extraction.pages.facts import Fact, FactList, Record
from tests.extraction.pages.linked_data import record_data, type_of

# ruff: noqa: E501 - markup reads best in one piece


Template = Callable[[Record, Random], str]


def _frame(record: Record, head: str, content: str, rng: Random) -> str:
    title = escape(record.heading.texts[1])
    teasers = "".join(
        f'<li class="teaser"><h4><a href="/t/{n}">More to read, part {n}</a></h4><em>{rng.randint(2, 80)} EUR</em></li>'
        for n in range(4)
    )
    return f"""<!DOCTYPE html>
<html lang="en-GB">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>The Depot - {title}</title>{head}</head>
<body class="page">
<div id="top"><a class="logo" href="/">The Depot</a> <a href="/login">Sign in</a> <a href="/basket">Basket (0)</a></div>
<div class="crumbs"><a href="/">Start</a> / <a href="/all">All</a> / {title}</div>
<div id="content">{content}</div>
<div class="sidebar"><h3>Popular now</h3><ul>{teasers}</ul></div>
<div id="foot"><div>Call our hotline: +1 555 010 0199</div><div>Imprint: Depot Trading, Box 12, Oslo</div>
<div>Newsletter: sign up for news once a month</div></div>
</body></html>"""


def _paragraphs(record: Record) -> str:
    return "".join(f'<p class="lead">{escape(each)}</p>' for each in record.prose)


def _bullets(each: FactList) -> str:
    items = "".join(f"<li><span>{escape(item)}</span></li>" for item in each.texts)
    return f'<div class="block"><h3>{each.labels[1]}</h3><ul class="bullets">{items}</ul></div>'


def _is_texts(each: FactList) -> bool:
    return bool(each.texts)


def json_ld_graph(record: Record, rng: Random) -> str:
    """A graph with the site and its breadcrumbs before the thing itself; text beside it."""
    thing = {"@id": "https://depot.example/#it", **record_data(record)}
    graph = {
        "@context": "https://schema.org",
        "@graph": [
            {
                "@type": "Organization",
                "@id": "https://depot.example/#org",
                "name": "The Depot",
                "telephone": "+1 555 010 0199",
                "url": "https://depot.example/",
            },
            {
                "@type": "WebSite",
                "name": "The Depot",
                "publisher": {"@id": "https://depot.example/#org"},
            },
            {
                "@type": "BreadcrumbList",
                "itemListElement": [
                    {"@type": "ListItem", "position": 1, "name": "Start"},
                    {"@type": "ListItem", "position": 2, "name": "All"},
                ],
            },
            thing,
        ],
    }
    head = f'<script type="application/ld+json">\n{json.dumps(graph)}\n</script>'
    return _frame(
        record, head, f"<h1>{escape(record.heading.texts[1])}</h1>{_paragraphs(record)}", rng
    )


def plain_table(record: Record, rng: Random) -> str:
    """Cells without header cells, labels bold with colons; records under a first row of bold cells."""
    rows = "".join(
        f"<tr><td><b>{fact.labels[1]}:</b></td><td>{escape(fact.texts[1])}</td></tr>"
        for fact in record.facts
    )
    facts = f'<table width="100%" border="0">{rows}</table>' if rows else ""
    lists = "".join(
        _bullets(each) if _is_texts(each) else _bold_table(each) for each in record.lists
    )
    content = (
        f'<h1 class="ttl">{escape(record.heading.texts[1])}</h1>{_paragraphs(record)}{facts}{lists}'
    )
    return _frame(record, "", content, rng)


def _bold_table(each: FactList) -> str:
    head = "".join(f"<td><b>{fact.labels[1]}</b></td>" for fact in each.records[0])
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(fact.texts[1])}</td>" for fact in item) + "</tr>"
        for item in each.records
    )
    return f"<h3>{each.labels[1]}</h3><table><tr>{head}</tr>{rows}</table>"


def two_columns(record: Record, rng: Random) -> str:
    """Rows of two boxes with classes that say nothing."""
    rows = "".join(
        f'<div class="r"><div class="c1">{fact.labels[1]}</div><div class="c2">{escape(fact.texts[1])}</div></div>'
        for fact in record.facts
    )
    lists = "".join(_bullets(each) if _is_texts(each) else _boxes(each) for each in record.lists)
    content = f'<h1>{escape(record.heading.texts[1])}</h1><div class="grid">{rows}</div>{lists}{_paragraphs(record)}'
    return _frame(record, "", content, rng)


def _boxes(each: FactList) -> str:
    boxes = "".join(
        f'<div class="bx"><div class="hd"><a href="/x/{n}">{escape(item[0].texts[1])}</a></div>'
        + "".join(
            f'<div class="ln"><span>{fact.labels[1]}</span><span>{escape(fact.texts[1])}</span></div>'
            for fact in item[1:]
        )
        + "</div>"
        for n, item in enumerate(each.records)
    )
    return f"<h2>{each.labels[1]}</h2><div>{boxes}</div>"


def bulleted_labels(record: Record, rng: Random) -> str:
    """A list whose items say label and value in one line; OpenGraph for the title."""
    head = f'<meta property="og:title" content="{escape(record.heading.texts[1])}"><meta property="og:type" content="website">'
    facts = "".join(
        f"<li><span>{fact.labels[1]}</span>: <em>{escape(fact.texts[1])}</em></li>"
        for fact in record.facts
    )
    lists = "".join(_said_list(each) if _is_texts(each) else _lines(each) for each in record.lists)
    content = (
        f"<h2>{escape(record.heading.texts[1])}</h2><ul>{facts}</ul>{_paragraphs(record)}{lists}"
    )
    return _frame(record, head, content, rng)


def _said_list(each: FactList) -> str:
    items = "".join(f"<li>{escape(item)}</li>" for item in each.texts)
    return f"<p><b>{each.labels[1]}</b></p><ol>{items}</ol>"


def _lines(each: FactList) -> str:
    lines = "".join(
        f"<li><b>{escape(item[0].texts[1])}</b><br>"
        + "<br>".join(f"{fact.labels[1]}: {escape(fact.texts[1])}" for fact in item[1:])
        + "</li>"
        for item in each.records
    )
    return f"<h3>{each.labels[1]}</h3><ul>{lines}</ul>"


def wrapped_definitions(record: Record, rng: Random) -> str:
    """A definition list of wrapped pairs, with the record cards of a design system."""
    facts = "".join(
        f'<div class="dl-row"><dt class="t">{fact.labels[1]}</dt><dd class="d"><span>{escape(fact.texts[1])}</span></dd></div>'
        for fact in record.facts
    )
    lists = "".join(_bullets(each) if _is_texts(each) else _tiles(each) for each in record.lists)
    content = (
        f"<article><header><h1>{escape(record.heading.texts[1])}</h1></header>"
        f'<dl class="facts">{facts}</dl>{_paragraphs(record)}{lists}</article>'
    )
    return _frame(record, "", content, rng)


def _tiles(each: FactList) -> str:
    tiles = "".join(
        '<li class="tile tile--wide">'
        + "".join(
            f'<span class="tile__{fact.css[1]}">{escape(fact.texts[1])}</span> ' for fact in item
        )
        + "</li>"
        for item in each.records
    )
    return f'<section><h2>{each.labels[1]}</h2><ul class="tiles">{tiles}</ul></section>'


def scoped_items(record: Record, rng: Random) -> str:
    """Microdata on nested elements, machine values in meta elements, visible words beside them."""
    facts = "".join(map(_scoped, record.facts))
    lists = "".join(map(_scoped_list, record.lists))
    name = record.heading.prop
    content = (
        f'<div itemscope itemtype="http://schema.org/{record.schema_type}"><div class="hero">'
        f'<h1><span itemprop="{name}">{escape(record.heading.texts[1])}</span></h1></div>'
        f"{facts}{lists}{_paragraphs(record)}</div>"
    )
    return _frame(record, "", content, rng)


def _scoped(fact: Fact) -> str:
    *scopes, name = fact.prop.split(".")
    machine = fact.value if fact.machine is None else fact.machine
    is_same = str(machine) == fact.texts[1]
    shown = f'<span class="val">{escape(fact.texts[1])}</span>'
    inner = (
        f'<span class="val" itemprop="{name}">{escape(fact.texts[1])}</span>'
        if is_same
        else f'<meta itemprop="{name}" content="{escape(str(machine))}">{shown}'
    )
    for scope in reversed(scopes):
        inner = f'<div itemprop="{scope}" itemscope itemtype="http://schema.org/{type_of(scope)}">{inner}</div>'
    return f'<div class="line">{inner}</div>'


def _scoped_list(each: FactList) -> str:
    name = each.prop.split(".")[-1]
    texts = "".join(f'<p itemprop="{name}">{escape(text)}</p>' for text in each.texts)
    records = "".join(
        f'<div itemprop="{name}" itemscope itemtype="http://schema.org/{each.item_type}">'
        + "".join(map(_scoped, record))
        + "</div>"
        for record in each.records
    )
    return f'<div class="many">{texts}{records}</div>'


HELD_OUT: tuple[Template, ...] = (
    json_ld_graph,
    plain_table,
    two_columns,
    bulleted_labels,
    wrapped_definitions,
    scoped_items,
)
