"""Content in the data that a page carries for its scripts, read without running them.

An application's page may show nothing before its scripts run, and have its whole text as data: the
props of Next and Astro, the payloads of Nuxt, React Router and SvelteKit, the state of Apollo and
Redux, the `articleBody` of JSON-LD. Of that data, prose, HTML and rich text are content; short
strings, addresses, translations and configuration are not.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from html import escape, unescape
from itertools import islice

from cinder.html.vocabulary import load_vocabulary
from cinder.models.document import Json
from cinder.text.terms import extra_words

_VOCABULARY = load_vocabulary()["hydration"]
_DROPPED_KEYS = frozenset(_VOCABULARY["dropped_keys"])
_TITLE_KEYS = frozenset(_VOCABULARY["title_keys"])
_CHILD_KEYS = tuple(_VOCABULARY["child_keys"])
_LEAF_KEYS = tuple(_VOCABULARY["leaf_keys"])

_MAX_SCRIPTS = 1_000
# Each may take a look at the whole script.
_MAX_ASSIGNED = 8
_MAX_DATA_CHARS = 4_000_000
_MAX_VALUES = 100_000
_MAX_DEPTH = 80
_MAX_TITLE_CHARS = 200
_MIN_PROSE_CHARS = 40
_MIN_PROSE_WORDS = 6
_MIN_UNSPACED_CHARS = 20
# With fewer words than this, data is no replacement for a rendered page.
_AMPLE_WORDS = 100
# The least share of the data's text that its content has; the rest would show only in a browser.
_AMPLE_SHARE = 0.4

# Searching for fixed text is several times faster than for alternatives that begin differently.
_MARKS = ("sveltekit", "<astro-island", "articleBody")
_UNDERSCORED_MARKS = re.compile(
    r"__(?:NEXT_DATA__|next_f|NUXT|remixContext|reactRouterContext|"
    r"APOLLO_STATE__|PRELOADED_STATE__|INITIAL_STATE__)"
)
_STATE = re.compile(
    r"(__NUXT__|__remixContext|__APOLLO_STATE__|__PRELOADED_STATE__|__INITIAL_STATE__)"
    r"(?:[\"']\])?\s*=\s*(?:JSON\.parse\(\s*)?(?=[\[{\"'])"
)
_FLIGHT = re.compile(r"__next_f\.push\(\s*\[\s*1\s*,\s*(?=\")")
_TURBO_STREAM = re.compile(r"streamController\.enqueue\(\s*(?=\")")
_SVELTEKIT = re.compile(r"\bkit\.start\(")
_SVELTEKIT_DATA = re.compile(r"\bdata:\s*(?=\[)")
_SVELTEKIT_REACH = 500
_ISLAND_PROPS = re.compile(r"<astro-island\s[^<>]*?\sprops=\"([^\"<>]*)\"")
_FLIGHT_ROW = re.compile(r"([0-9a-f]+):(?:T([0-9a-f]+),|([A-Z]{0,2})([^\n]*)\n?)")
_REFERENCE = re.compile(r"\$[L@]?([0-9a-f]+)")
# The tokens of a JavaScript literal: strings, names, numbers, brackets and what comes between.
_TOKEN = re.compile(
    r"\s++|\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+'|new Date\([^()]*+\)|void 0|![01]|"
    r"-?\.?[0-9][\w.+-]*+|[A-Za-z_$][\w$]*+|[\[\]{}:,]",
    re.DOTALL,
)
_NAMED_VALUES = {"!0": "true", "!1": "false", "true": "true", "false": "false"}
_ESCAPE = re.compile(r"\\x([0-9a-fA-F]{2})|\\.|\"", re.DOTALL)
_TAG_NAME = re.compile(r"[a-z][a-z0-9]{0,20}")
_UNSEEN_TAGS = frozenset(("head", "link", "meta", "script", "style", "svg", "template", "title"))
_BARE_TAGS = frozenset(("body", "html"))
_VOID_TAGS = frozenset(("br", "hr", "img"))
_SHOWN_ATTRIBUTES = ("alt", "href", "src")
_MARKUP = re.compile(
    r"(?i)<(?:p|h[1-6]|ul|ol|li|div|section|article|blockquote|table|pre|br)[\s/>]"
)
_ANY_TAG = re.compile(r"<[^<>]*>")
_CODE = re.compile(
    r"https?://\S+$|data:|[\[{]\s*[\"'\[{]|(?:function|var|const|import|@media)\b|[.#@:]?[\w-]+\s*\{"
)
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\u0e00-\u0e7f]")
_HEADING_TYPE = re.compile(r"(?i)h(?:eading)?[-_]?([1-6])")


@dataclass(frozen=True, slots=True, kw_only=True)
class HydrationContent:
    """The content in a page's data: as HTML, with the name of the data."""

    source: str
    html: str
    word_count: int
    share: float
    """The part of the data's text that is content."""

    @property
    def is_ample(self) -> bool:
        """Whether this is most of what the page would show."""
        return self.word_count >= _AMPLE_WORDS and self.share >= _AMPLE_SHARE


def may_carry_data(html: str) -> bool:
    """Whether a page has one of the names that frameworks give their data."""
    return any(mark in html for mark in _MARKS) or _UNDERSCORED_MARKS.search(html) is not None


def read_hydration(html: str) -> HydrationContent | None:
    """Return the content in a page's data, the longest where there are several; never raises."""
    longest: HydrationContent | None = None
    for source, data in _find_data(html):
        collector = _Collector()
        collector.add(data)
        markup = "\n".join(collector.parts)
        text = unescape(_ANY_TAG.sub(" ", markup))
        words = len(text.split()) + extra_words(text)
        if longest is None or words > longest.word_count:
            share = len(text) / max(1, len(text) + collector.left_out)
            longest = HydrationContent(source=source, html=markup, word_count=words, share=share)
    return longest


# Finding the data


def _find_data(html: str) -> Iterator[tuple[str, Json]]:
    """Yield the data of each kind, with its name, in the order of the page."""
    flight: list[str] = []
    budget = _MAX_DATA_CHARS
    for attributes, code in _scripts(html):
        budget -= len(code)
        if budget < 0:
            break
        if "application/ld+json" in attributes:
            linked = _parse_json(code)
            graph = _as_list(_at(linked, "@graph"))
            nodes = linked if isinstance(linked, list) else [linked, *graph]
            for node in (each for each in nodes if isinstance(_at(each, "articleBody"), str)):
                article = {"headline": _at(node, "headline"), "body": _at(node, "articleBody")}
                yield "JSON-LD articleBody", article
        elif "__NEXT_DATA__" in attributes:
            yield "__NEXT_DATA__", _at(_parse_json(code), "props")
        elif "__NUXT_DATA__" in attributes:
            yield "__NUXT_DATA__", _unflatten(_parse_json(code))
        elif "data-sveltekit-fetched" in attributes:
            body = _at(_parse_json(code), "body")
            yield "SvelteKit", _parse_json(body) if isinstance(body, str) else body
        else:
            flight += _string_arguments(_FLIGHT, code)
            yield from _find_assigned(code)
    if flight:
        yield "__next_f", _read_flight("".join(flight))
    islands = islice(_ISLAND_PROPS.finditer(html), _MAX_SCRIPTS)
    if props := [_parse_json(unescape(island[1])) for island in islands]:
        yield "astro-island", props


def _scripts(html: str) -> Iterator[tuple[str, str]]:
    """Yield the attributes and the code of every script that has code."""
    start = html.find("<script")
    for _ in range(_MAX_SCRIPTS):
        code_start = html.find(">", start)
        end = html.find("</script", code_start)
        if start < 0 or code_start < 0 or end < 0:
            return
        yield html[start:code_start], html[code_start + 1 : end]
        start = html.find("<script", end)


def _find_assigned(code: str) -> Iterator[tuple[str, Json]]:
    for found in islice(_STATE.finditer(code), _MAX_ASSIGNED):
        state = _read_literal(code, found.end())
        yield found[1], _parse_json(state) if isinstance(state, str) else state
    for text in _string_arguments(_TURBO_STREAM, code):
        # Lines after the first are the values of promises, each a list of its own.
        yield (
            "__reactRouterContext",
            [_unflatten(_parse_json(line[line.find("[") :])) for line in text.splitlines()],
        )
    if started := _SVELTEKIT.search(code):
        reach = started.end() + _SVELTEKIT_REACH
        if data := _SVELTEKIT_DATA.search(code, started.end(), reach):
            yield "SvelteKit", _read_literal(code, data.end())


def _string_arguments(call: re.Pattern[str], code: str) -> Iterator[str]:
    for found in call.finditer(code):
        with suppress(ValueError):
            text, _ = json.JSONDecoder().raw_decode(code, found.end())
            if isinstance(text, str):
                yield text


def _parse_json(text: str) -> Json:
    try:
        parsed: Json = json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return None
    return parsed


def _at(value: Json, key: str) -> Json:
    return value.get(key) if isinstance(value, dict) else None


def _as_list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []


def _read_literal(code: str, start: int) -> Json:
    """Return the JavaScript literal at a position; None for an expression that computes one."""
    pieces: list[str] = []
    depth = 0
    while found := _TOKEN.match(code, start):
        start, piece = found.end(), found[0]
        if piece.isspace():
            continue
        is_end = piece in ("]", "}")
        if is_end and pieces[-1:] == [","]:
            pieces.pop()
        depth += (piece in ("[", "{")) - is_end
        pieces.append(_as_json(piece, is_key=code[start : start + 1] == ":"))
        if depth <= 0:
            return _parse_json("".join(pieces))
    return None


def _as_json(piece: str, *, is_key: bool) -> str:
    if piece[0] in "\"'":
        return f'"{_ESCAPE.sub(_json_escape, piece[1:-1])}"'
    if piece in ("[", "]", "{", "}", ":", ","):
        return piece
    if is_key:
        return f'"{piece}"'
    if piece[0] in "-.0123456789":
        return "0"
    return _NAMED_VALUES.get(piece, "null")


def _json_escape(found: re.Match[str]) -> str:
    if found[1]:
        return f"\\u00{found[1]}"
    return "'" if found[0] == "\\'" else '\\"' if found[0] == '"' else found[0]


def _unflatten(values: Json) -> Json:
    """Return the data of a list whose values name each other by their positions.

    Each value is used once: one that many others name would multiply.
    """
    if not isinstance(values, list):
        return None
    used: set[int] = set()

    def at(place: Json, depth: int = 0) -> Json:
        if not isinstance(place, int) or not 0 <= place < len(values) or depth > _MAX_DEPTH:
            return None
        value: Json = values[place]
        if not isinstance(value, dict | list):
            return value
        if place in used:
            return None
        used.add(place)
        if isinstance(value, dict):
            return {key_of(key): at(inner, depth + 1) for key, inner in value.items()}
        # A list that begins with a name is a value of another type, such as a date.
        return [
            at(inner, depth + 1) for inner in value[bool(value and isinstance(value[0], str)) :]
        ]

    def key_of(key: str) -> str:
        place = int(key[1:]) if key[:1] == "_" and key[1:].isdecimal() and len(key) < 9 else -1
        return str(values[place]) if 0 <= place < len(values) else key

    return at(0)


def _read_flight(stream: str) -> Json:
    """Return the first row of React's stream, with the rows that it refers to in place."""
    rows: dict[str, Json] = {}
    start = 0
    while found := _FLIGHT_ROW.match(stream, start):
        start = found.end()
        if found[2]:
            # The length of a text is in bytes.
            size = int(found[2][:8], 16)
            data = stream[start : start + size].encode("utf-8", "replace")[:size]
            rows[found[1]] = text = data.decode("utf-8", "ignore")
            start += len(text)
        elif not found[3]:
            rows[found[1]] = _parse_json(found[4])
    # Each row is used once: one that many others name would multiply.
    return _with_rows(rows.pop("0", None), rows, 0)


def _with_rows(value: Json, rows: dict[str, Json], depth: int) -> Json:
    if depth > _MAX_DEPTH:
        return None
    if isinstance(value, list):
        return [_with_rows(inner, rows, depth + 1) for inner in value]
    if isinstance(value, dict):
        return {key: _with_rows(inner, rows, depth + 1) for key, inner in value.items()}
    if not isinstance(value, str) or not value.startswith("$"):
        return value
    if reference := _REFERENCE.fullmatch(value):
        # The type of an element may be a row of code, which is not kept.
        return _with_rows(rows.pop(reference[1], None), rows, depth + 1)
    return value[1:] if value.startswith("$$") else value


# Choosing the content


class _Collector:
    """Collects the content of data as HTML, in the order of the data."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.left_out = 0
        """How many characters of text were not taken for content."""
        self._seen: set[str] = set()
        self._values = 0

    def add(self, value: Json, depth: int = 0) -> None:
        """Add what is content in a value."""
        self._values += 1
        if depth > _MAX_DEPTH or self._values > _MAX_VALUES:
            return
        if isinstance(value, str):
            self._add_text(value)
        elif _is_element(value):
            self._add_part(_element_html(value, self, depth))
        elif isinstance(value, list):
            for inner in value:
                self.add(inner, depth + 1)
        elif isinstance(value, dict):
            if rich := _rich_text(value, depth):
                self._add_part(rich)
            else:
                self._add_object(value, depth)

    def _add_object(self, data: Mapping[str, Json], depth: int) -> None:
        place = len(self.parts)
        title = ""
        # Sites translate their interface in tables of dotted names.
        names = [key for key in data if "." in key]
        if len(names) > len(data) / 2:
            return
        for key, value in data.items():
            name = key.replace("_", "").replace("-", "").lower()
            if name in _TITLE_KEYS and isinstance(value, str):
                title = title or value.strip()[:_MAX_TITLE_CHARS]
            elif name not in _DROPPED_KEYS:
                self.add(value, depth + 1)
        if title and len(self.parts) > place and title not in self._seen:
            self._seen.add(title)
            level = 1 if place == 0 else 2
            self.parts.insert(place, f"<h{level}>{escape(_ANY_TAG.sub('', title))}</h{level}>")

    def _add_text(self, text: str) -> None:
        if _MARKUP.search(text):
            self._add_part(text)
        elif not _CODE.match(body := text.strip()) and (
            len(_UNSPACED.findall(body)) >= _MIN_UNSPACED_CHARS
            or (len(body) >= _MIN_PROSE_CHARS and len(body.split()) >= _MIN_PROSE_WORDS)
        ):
            paragraphs = filter(None, map(str.strip, re.split(r"\n\s*\n", text)))
            self._add_part("".join(f"<p>{escape(one)}</p>" for one in paragraphs))
        elif " " in text and not _CODE.match(text):
            self.left_out += len(text)

    def _add_part(self, markup: str) -> None:
        if markup.strip() and markup not in self._seen:
            self._seen.add(markup)
            self.parts.append(markup)


def _is_element(value: Json) -> bool:
    """Whether a value is an element of React: the mark, a type, a key and props."""
    return (
        isinstance(value, list)
        and len(value) >= 4
        and value[0] == "$"
        and isinstance(value[1], str | list | None)
        and isinstance(value[3], dict)
    )


def _element_html(value: Json, collector: _Collector, depth: int) -> str:
    """Return the HTML of an element; the props of components go to the collector as data."""
    assert isinstance(value, list)  # noqa: S101 - the caller has checked
    kind, props = value[1], value[3]
    assert isinstance(props, dict)  # noqa: S101 - the same
    if kind in _UNSEEN_TAGS or depth > _MAX_DEPTH or props.get("hidden"):
        return ""
    raw = _at(props.get("dangerouslySetInnerHTML"), "__html")
    inner = raw if isinstance(raw, str) else _children_html(props.get("children"), collector, depth)
    if not isinstance(kind, str) or not _TAG_NAME.fullmatch(kind):
        data = {key: inside for key, inside in props.items() if key != "children"}
        collector.add(data, depth + 1)
        return inner
    if kind in _BARE_TAGS:
        return inner
    shown = [(name, props.get(name)) for name in _SHOWN_ATTRIBUTES]
    attributes = "".join(
        f' {name}="{escape(text)}"' for name, text in shown if isinstance(text, str)
    )
    return f"<{kind}{attributes}>" + ("" if kind in _VOID_TAGS else f"{inner}</{kind}>")


def _children_html(children: Json, collector: _Collector, depth: int) -> str:
    if isinstance(children, str):
        return "" if children.startswith("$") else escape(children)
    if isinstance(children, int | float) and not isinstance(children, bool):
        return str(children)
    if _is_element(children):
        return _element_html(children, collector, depth + 1)
    if isinstance(children, list):
        return "".join(_children_html(child, collector, depth + 1) for child in children)
    return ""


def _rich_text(node: Mapping[str, Json], depth: int) -> str:
    """Return the HTML of a block of rich text; empty for other data."""
    children = next((node[key] for key in _CHILD_KEYS if isinstance(node.get(key), list)), None)
    if children is None or not any(map(_leaf_text, _as_list(children))):
        return ""
    kind = str(node.get("type") or node.get("nodeType") or node.get("style") or "")
    heading = _HEADING_TYPE.fullmatch(str(node.get("style") or kind))
    level = (
        heading[1] if heading else str(_at(node.get("attrs"), "level") or node.get("level") or "")
    )
    is_heading = heading is not None or (kind.lower() == "heading" and level in "123456")
    tag = f"h{level or 2}" if is_heading else "li" if "item" in kind.lower() else "p"
    return f"<{tag}>{escape(''.join(_inline_texts(_as_list(children), depth)))}</{tag}>"


def _leaf_text(node: Json) -> str:
    if not isinstance(node, dict):
        return ""
    texts = (node.get(key) for key in _LEAF_KEYS)
    return next((text for text in texts if isinstance(text, str)), "")


def _inline_texts(nodes: Iterable[Json], depth: int) -> Iterator[str]:
    for node in nodes if depth <= _MAX_DEPTH else ():
        if text := _leaf_text(node):
            yield text
        elif isinstance(node, dict):
            for key in _CHILD_KEYS:
                yield from _inline_texts(_as_list(node.get(key)), depth + 1)
