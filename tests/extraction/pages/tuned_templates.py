"""The templates that the extractor may be tuned on."""

import json
from collections.abc import Callable
from html import escape
from random import Random

from tests.extraction.pages.facts import Fact, FactList, Record
from tests.extraction.pages.linked_data import record_data, type_of

# ruff: noqa: E501 - markup reads best in one piece


Template = Callable[[Record, Random], str]


def _shell(title: str, head: str, main: str, rng: Random) -> str:
    others = "".join(
        f'<div class="related-card"><a href="/p/{n}">Other thing {n}</a>'
        f'<span class="related-price">${rng.randint(1, 99)}.00</span></div>'
        for n in range(3)
    )
    return f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} | Emporium</title>
{head}</head><body><header><nav><ul><li><a href="/">Home</a></li><li><a href="/about">About us</a></li>
<li><a href="/help">Help</a></li></ul></nav></header><main>{main}</main>
<aside class="related"><h2>You may also like</h2>{others}</aside>
<footer><p>© 2026 Emporium Ltd. All rights reserved.</p><p>Questions? <a href="/contact">Contact</a></p></footer>
</body></html>"""


def _heading(record: Record) -> str:
    return f"<h1>{escape(record.heading.texts[0])}</h1>"


def _prose(record: Record) -> str:
    return "".join(f"<p>{escape(each)}</p>" for each in record.prose)


def _list(each: FactList) -> str:
    tag = "ol" if each.is_ordered else "ul"
    items = "".join(f"<li>{escape(item)}</li>" for item in each.texts)
    return f"<h2>{each.labels[0]}</h2><{tag}>{items}</{tag}>" if items else _record_table(each)


def _record_table(each: FactList) -> str:
    head = "".join(f"<th>{fact.labels[0]}</th>" for fact in each.records[0])
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(fact.texts[0])}</td>" for fact in item) + "</tr>"
        for item in each.records
    )
    return f"<h2>{each.labels[0]}</h2><table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def json_ld(record: Record, rng: Random) -> str:
    data = json.dumps({"@context": "https://schema.org", **record_data(record)}, indent=1)
    head = f'<script type="application/ld+json">{data}</script>'
    return _shell(escape(record.heading.texts[0]), head, _heading(record) + _prose(record), rng)


def specification_table(record: Record, rng: Random) -> str:
    rows = "".join(
        f"<tr><th>{fact.labels[0]}</th><td>{escape(fact.texts[0])}</td></tr>"
        for fact in record.facts
    )
    table = f'<table class="specs"><tbody>{rows}</tbody></table>' if rows else ""
    lists = "".join(map(_list, record.lists))
    main = _heading(record) + table + _prose(record) + lists
    return _shell(escape(record.heading.texts[0]), "", main, rng)


def labelled_paragraphs(record: Record, rng: Random) -> str:
    facts = "".join(
        f"<p><strong>{fact.labels[0]}:</strong> {escape(fact.texts[0])}</p>"
        for fact in record.facts
    )
    lists = "".join(
        f"<p><strong>{each.labels[0]}:</strong> {', '.join(each.texts)}</p>"
        if each.texts and not each.is_ordered and "," not in "".join(each.texts)
        else _list_items(each)
        for each in record.lists
    )
    return _shell(
        escape(record.heading.texts[0]), "", _heading(record) + facts + _prose(record) + lists, rng
    )


def _list_items(each: FactList) -> str:
    if each.texts:
        return _list(each)
    items = "".join(
        "<li>"
        + "".join(f"<p>{fact.labels[0]}: {escape(fact.texts[0])}</p>" for fact in item)
        + "</li>"
        for item in each.records
    )
    return f"<h2>{each.labels[0]}</h2><ul>{items}</ul>"


def classed_elements(record: Record, rng: Random) -> str:
    facts = "".join(
        f'<div class="{fact.css[0]}">{escape(fact.texts[0])}</div>' for fact in record.facts
    )
    lists = "".join(map(_cards, record.lists))
    main = f'<h1 class="{record.heading.css[0]}">{escape(record.heading.texts[0])}</h1>'
    return _shell(
        escape(record.heading.texts[0]),
        "",
        f'{main}<div class="info">{facts}</div>{_prose(record)}{lists}',
        rng,
    )


def _cards(each: FactList) -> str:
    if each.texts:
        return _list(each)
    cards = "".join(
        '<article class="card">'
        + "".join(
            f"<h3>{escape(fact.texts[0])}</h3>"
            if place == 0
            else f'<p class="{fact.css[0]}">{escape(fact.texts[0])}</p>'
            for place, fact in enumerate(item)
        )
        + "</article>"
        for item in each.records
    )
    return f'<section><h2>{each.labels[0]}</h2><div class="cards">{cards}</div></section>'


def span_cards(record: Record, rng: Random) -> str:
    """Facts and records as spans in one line each, with icons between."""
    facts = "".join(
        f'<li><i class="icon"></i><span class="k">{fact.labels[0]}</span> <span>{escape(fact.texts[0])}</span></li>'
        for fact in record.facts
    )
    lists = "".join(map(_span_list, record.lists))
    main = f'{_heading(record)}<ul class="facts">{facts}</ul>{lists}{_prose(record)}'
    return _shell(escape(record.heading.texts[0]), "", main, rng)


def _span_list(each: FactList) -> str:
    texts = " ".join(f"<span>{escape(text)}</span>" for text in each.texts)
    records = "".join(
        '<div class="entry">'
        + " ".join(f'<span class="{fact.css[0]}">{escape(fact.texts[0])}</span>' for fact in record)
        + "</div>"
        for record in each.records
    )
    return f'<h2>{each.labels[0]}</h2><div class="list">{texts}{records}</div>'


def definition_list(record: Record, rng: Random) -> str:
    facts = "".join(
        f"<dt>{fact.labels[0]}</dt><dd>{escape(fact.texts[0])}</dd>" for fact in record.facts
    )
    texts = "".join(
        f"<dt>{each.labels[0]}</dt>" + "".join(f"<dd>{escape(item)}</dd>" for item in each.texts)
        for each in record.lists
        if each.texts
    )
    records = "".join(_record_table(each) for each in record.lists if not each.texts)
    main = f"{_heading(record)}<dl>{facts}{texts}</dl>{_prose(record)}{records}"
    return _shell(escape(record.heading.texts[0]), "", main, rng)


def microdata(record: Record, rng: Random) -> str:
    facts = "".join(map(_item_property, record.facts))
    lists = "".join(map(_item_list, record.lists))
    name = record.heading.prop
    main = (
        f'<div itemscope itemtype="https://schema.org/{record.schema_type}">'
        f'<h1 itemprop="{name}">{escape(record.heading.texts[0])}</h1>{facts}{lists}</div>'
    )
    return _shell(escape(record.heading.texts[0]), "", main + _prose(record), rng)


def _item_property(fact: Fact) -> str:
    *scopes, name = fact.prop.split(".")
    text, machine = escape(fact.texts[0]), "" if fact.machine is None else str(fact.machine)
    inner = (
        f'<span itemprop="{name}"'
        + (f' content="{machine}"' if machine else "")
        + f">{text}</span>"
    )
    if isinstance(fact.value, str) and fact.value[:2] in ("19", "20") and fact.value[4:5] == "-":
        inner = f'<time itemprop="{name}" datetime="{fact.value}">{text}</time>'
    for scope in reversed(scopes):
        inner = f'<div itemprop="{scope}" itemscope itemtype="https://schema.org/{type_of(scope)}">{inner}</div>'
    return f"<div>{inner}</div>"


def _item_list(each: FactList) -> str:
    name = each.prop.split(".")[-1]
    texts = "".join(f'<li itemprop="{name}">{escape(text)}</li>' for text in each.texts)
    records = "".join(
        f'<li itemprop="{name}" itemscope itemtype="https://schema.org/{each.item_type}">'
        + "".join(map(_item_property, record))
        + "</li>"
        for record in each.records
    )
    return f"<ul>{texts}{records}</ul>"


TUNED: tuple[Template, ...] = (
    json_ld,
    specification_table,
    labelled_paragraphs,
    classed_elements,
    span_cards,
    definition_list,
    microdata,
)
