"""JavaScript shells: pages whose content a script loads.

A page is a shell when it shows little text and something announces more: an empty root element, a
request to enable JavaScript, a loading message, an empty container that a script fills. Little text
alone means nothing, and a page without scripts and custom elements is complete.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from cinder.verdicts.evidence import (
    Outline,
    PageEvidence,
    estimate_words,
    load_phrases,
    read_outline,
    read_text,
)

# A page with more text in sentences than this has content, whatever else its scripts load.
_MAX_SENTENCE_BYTES = 1_000
# Menus and footers of real shells have several hundred words around the empty root.
_MAX_WORDS_AROUND_ROOT = 700
_MAX_TEXT_BYTES = _MAX_WORDS_AROUND_ROOT * 8
_MAX_THIN_WORDS = 200
_MAX_SPARSE_WORDS = 60
_MAX_BARE_WORDS = 8
# With more text than this, a container that a script fills is a widget unless its name denies it.
_MAX_SENTENCE_BYTES_AROUND_CONTAINER = 400
_MAX_SENTENCE_BYTES_OF_FRAME = 200
_HEAVY_SCRIPT_BYTES = 20_000
_MAX_SNIPPET_BYTES = 4_000
_MAX_SEARCHED_BYTES = 200_000
_MAX_CONTAINERS = 200
_MAX_ROOTS = 20

_VOCABULARY = {name: "|".join(words) for name, words in load_phrases()["js_shell"].items()}
_SERVICES = tuple(load_phrases()["js_shell"]["services"])
_ROOT = re.compile(rb"(?i)\sid\s*=\s*[\"']?(%b)(?=[\"'\s>])" % _VOCABULARY["root_ids"].encode())
_CONTENT_NAME = re.compile(
    rf"(?i)(?:[a-z0-9]+[-_])?(?:{_VOCABULARY['content_names']})(?:[-_][a-z0-9]+)?"
)
_WIDGET_NAME = re.compile(rf"(?i)(?:^|[-_])(?:{_VOCABULARY['widget_names']})(?:$|[-_0-9])")
_WAITING = re.compile(
    rf"(?im)^\W*(?:(?:{_VOCABULARY['waiting']})\b|{_VOCABULARY['waiting_unspaced']}).{{0,60}}$"
)
_EMPTY_REST = re.compile(rb"[^<>]{0,500}>\s*+</")
_EMPTY_MAIN = re.compile(rb"(?i)<main(?:\s[^<>]{0,500})?>\s*+</main")
_EMPTY_CUSTOM_ELEMENT = re.compile(
    rb"(?i)<([a-z][a-z0-9]{0,30}-[a-z0-9-]{1,40})(?:\s[^<>]{0,500})?>\s*+</\1\s*>"
)
_EMPTY_CONTAINER = re.compile(
    rb"(?i)<(div|main|section|article|ul|ol|dl|table|tbody|p|pre|span|output|h[1-6])"
    rb"(\s[^<>]{0,500})>\s*+</"
)
# Elements of text: an empty one with an id is the target of a link.
_ANCHORS = re.compile(rb"(?i)a|span|p|pre|output|h[1-6]")
_TAG_NAME = re.compile(rb"<([a-zA-Z][\w-]*)")
_NAMES = re.compile(rb"(?i)\s(id|class)\s*=\s*(?:\"([^\"]{1,200})\"|'([^']{1,200})'|([\w-]{1,80}))")
_NAME_IN_SCRIPT = re.compile(rb"[\"'`#.]([A-Za-z_][\w-]{0,80})(?=[\"'`\s])")
_FETCHES = re.compile(
    rb"\bfetch\s*\(|XMLHttpRequest|\.ajax\s*\(|\$\.(?:get|post|getJSON)\s*\(|\.load\s*\(|\baxios\b|"
    rb"EventSource\s*\(|WebSocket\s*\(|\bimport\s*\("
)
_WRITES = re.compile(
    rb"\.innerHTML|\.textContent|\.innerText|insertAdjacent|\.append(?:Child)?\s*\(|"
    rb"replaceChildren|createTextNode|\.html\s*\("
)
_WRITES_MARKUP = re.compile(
    rb"(?i)document\.write(?:ln)?\s*\(\s*[\"'`]\s*<(?!/?\s*script|\\/script|!--)"
)
_SKELETON = re.compile(
    rb"(?i)\saria-busy\s*=\s*[\"']?true|"
    rb"\sclass\s*=\s*[\"'](?:[^\"'<>]{0,200}[\s_-])?skeleton[\s\"'_-]"
)
_STATE = re.compile(
    rb"__NEXT_DATA__|__next_f\b|__NUXT__|__NUXT_DATA__|__INITIAL_STATE__|__PRELOADED_STATE__|"
    rb"__APOLLO_STATE__|__remixContext|__sveltekit|webpackJsonp|webpackChunk|\sng-version=|"
    rb"\sdata-reactroot|/config/environment\""
)
_REDIRECT = re.compile(
    rb"(?<!top\.)\blocation(?:\s*\.\s*(?:replace|assign)\s*\(|(?:\s*\.\s*href)?\s*=\s*[\"'`\w])"
)
_REFRESH = re.compile(rb"(?i)<meta\s[^<>]{0,200}http-equiv\s*=\s*[\"']?refresh")
# Nearly every language uses the English name.
_PLEA = re.compile(r"(?i)java\s?script|джаваскрипт|جافا ?سكر[يی]بت|자바스크립트")
_WIDGET_PLEA = re.compile(r"(?i)comment|disqus|kommentar|comentario|e-?mail|video|captcha")


def find_shell_signs(evidence: PageEvidence) -> str | None:
    """Return what shows that a page needs JavaScript to show its content; None if nothing does.

    Takes a quarter of a millisecond on most pages, tens for the largest, and never raises.
    """
    amount = evidence.text_amount if evidence.is_html else None
    if amount is None or amount.exceeds(_MAX_SENTENCE_BYTES, _MAX_TEXT_BYTES):
        return None
    outline = read_outline(evidence.page.body)
    # A page without scripts other than those of services is static.
    codes, addresses = outline.inline_scripts, outline.script_addresses
    outline = replace(
        outline,
        inline_scripts=tuple(
            code
            for code in codes
            if len(code) > _MAX_SNIPPET_BYTES or not _is_service(_decode(code))
        ),
        script_addresses=tuple(address for address in addresses if not _is_service(address)),
    )
    words = outline.word_count
    if words > _MAX_WORDS_AROUND_ROOT:
        return None
    if outline.inline_scripts or outline.script_addresses:
        sign = _find_sign(outline, words)
    else:
        # An element of the page's own does nothing without a script, wherever that comes from.
        sign = _empty_custom_element(outline) if words <= _MAX_BARE_WORDS else None
    return f"{sign}, and there are about {words} words" if sign else None


def _is_service(script: str) -> bool:
    lowered = script.lower()
    return any(service in lowered for service in _SERVICES)


def _find_sign(outline: Outline, words: int) -> str | None:
    """Return the first sign; the stronger a sign, the more words may be on the page."""
    for root in _roots(outline.markup):
        if _EMPTY_REST.match(outline.markup, root.end()):
            return f"the application's root '{_decode(root[1])}' is empty"
    if words > _MAX_THIN_WORDS:
        return None
    # The code of a page is short; long scripts are data.
    codes = sorted(outline.inline_scripts, key=len)
    code = b"\n".join(codes)[:_MAX_SEARCHED_BYTES]
    if sign := _sign_on_thin_page(outline, code):
        return sign
    is_frame = outline.sentence_bytes <= _MAX_SENTENCE_BYTES_OF_FRAME
    if is_frame and _SKELETON.search(outline.markup):
        return "it shows a skeleton of what is to come"
    is_bare = words <= _MAX_SPARSE_WORDS and is_frame
    if words <= _MAX_THIN_WORDS // 2 and (sign := _empty_content(outline, is_bare=is_bare)):
        return sign
    if words > _MAX_SPARSE_WORDS:
        return None
    if is_bare and _FETCHES.search(code) and _WRITES.search(code):
        return "a script fetches and writes what is to be shown"
    if sign := _sign_on_sparse_page(outline, code):
        return sign
    return _sign_on_bare_page(outline, code, words)


def _roots(markup: bytes) -> Iterator[re.Match[bytes]]:
    for root in islice(_ROOT.finditer(markup), _MAX_ROOTS):
        opening = _TAG_NAME.match(markup, max(0, markup.rfind(b"<", 0, root.start())))
        if opening is None or not _ANCHORS.fullmatch(opening[1]):
            yield root


def _sign_on_thin_page(outline: Outline, code: bytes) -> str | None:
    text = read_text(outline.noscript)
    plea = _PLEA.search(text)
    if plea is not None and not _WIDGET_PLEA.search(text):
        return f"it asks for JavaScript ('{text[max(0, plea.start() - 60) : plea.end() + 30]}')"
    if _FETCHES.search(code) or _WRITES.search(code):
        named_in_code = {_decode(name) for name in _NAME_IN_SCRIPT.findall(code)}
        has_sentences = outline.sentence_bytes > _MAX_SENTENCE_BYTES_AROUND_CONTAINER
        for _, _, name in _names_of_empty_containers(outline.markup):
            if name in named_in_code and (not has_sentences or _CONTENT_NAME.fullmatch(name)):
                return f"a script fills the empty container '{name}'"
    return None


def _empty_content(outline: Outline, *, is_bare: bool) -> str | None:
    if _EMPTY_MAIN.search(outline.markup):
        return "its <main> is empty"
    if not outline.script_addresses:
        return None
    for tag, attribute, name in _names_of_empty_containers(outline.markup):
        is_container = attribute == "id" and not _ANCHORS.fullmatch(tag)
        if is_container and (is_bare or _CONTENT_NAME.fullmatch(name)):
            return f"the container '{name}' is empty"
    return None


def _names_of_empty_containers(markup: bytes) -> Iterator[tuple[bytes, str, str]]:
    """Yield tag, `id` or `class`, and each id and class of empty elements, widgets left out."""
    names: dict[tuple[bytes, str, str], None] = {}
    for container in _EMPTY_CONTAINER.finditer(markup):
        for attribute, *values in _NAMES.findall(container[2]):
            for name in _decode(b"".join(values)).split():
                names[container[1], _decode(attribute).lower(), name] = None
        if len(names) > _MAX_CONTAINERS:
            break
    return (found for found in names if not _WIDGET_NAME.search(found[2]))


def _sign_on_sparse_page(outline: Outline, code: bytes) -> str | None:
    if _WRITES_MARKUP.search(code):
        return "a script writes the page"
    root = next(_roots(outline.markup), None)
    if root and estimate_words(read_text(outline.markup[root.end() :])) <= _MAX_BARE_WORDS:
        return f"the root '{_decode(root[1])}' holds no text"
    if sign := _empty_custom_element(outline):
        return sign
    found = _WAITING.search(outline.text) or _WAITING.search(outline.title)
    return f"it says '{found[0].strip()}'" if found else None


def _empty_custom_element(outline: Outline) -> str | None:
    names = (_decode(found[1]) for found in _EMPTY_CUSTOM_ELEMENT.finditer(outline.markup))
    name = next((name for name in names if not _WIDGET_NAME.search(name)), None)
    return f"the element '{name}' is empty" if name else None


def _sign_on_bare_page(outline: Outline, code: bytes, words: int) -> str | None:
    if words <= _MAX_SPARSE_WORDS // 2:
        if _REFRESH.search(outline.noscript):
            return "readers without JavaScript are sent elsewhere"
        if _REDIRECT.search(code):
            return "a script leads elsewhere"
    if words <= _MAX_SPARSE_WORDS // 3:
        if found := _STATE.search(code) or _STATE.search(outline.markup):
            return f"it has an application's marks ({_decode(found[0]).strip()})"
        size = sum(map(len, outline.inline_scripts))
        if size > _HEAVY_SCRIPT_BYTES:
            return f"it has {size} bytes of scripts"
    return "it has scripts" if words <= _MAX_BARE_WORDS else None


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "replace")
