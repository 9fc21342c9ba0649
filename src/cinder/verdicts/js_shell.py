"""JavaScript shells: pages that wait for a script to bring their content.

A page is a shell when it shows little text and something on it says that more is to come: an empty
root of an application, a plea to turn JavaScript on, a word of waiting, an empty container that a
script fills. Little text alone says nothing, and a page without scripts is whole as it is.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from cinder.verdicts.evidence import Outline, PageEvidence, read_outline, read_text

# A page with more in sentences than this has content, whatever else its scripts may bring.
_MAX_SENTENCE_BYTES = 1_000
# Menus and footers of real shells run to several hundred words around the empty root.
_MAX_WORDS_AROUND_ROOT = 700
_MAX_TEXT_BYTES = _MAX_WORDS_AROUND_ROOT * 8
_MAX_THIN_WORDS = 200
_MAX_SPARSE_WORDS = 60
_MAX_BARE_WORDS = 8
# With more than this in sentences, what a script fills is a widget unless its name says otherwise.
_MAX_SENTENCE_BYTES_AROUND_CONTAINER = 400
_MAX_SENTENCE_BYTES_OF_FRAME = 200
_HEAVY_SCRIPT_BYTES = 20_000
_MAX_SNIPPET_BYTES = 4_000
_MAX_SEARCHED_BYTES = 200_000
_MAX_CONTAINERS = 200
_MAX_ROOTS = 20

_ROOT_NAMES = (
    rb"root|app|__next|__nuxt|___gatsby|svelte|sveltekit|q-app|main-app|app-root|react-root|"
    rb"reactroot|react-app|vue-app|ember-app|application|mount|app-mount|__layout|__docusaurus"
)
_ROOT = re.compile(rb"(?i)\sid\s*=\s*[\"']?(%b)(?=[\"'\s>])" % _ROOT_NAMES)
_EMPTY_REST = re.compile(rb"[^<>]{0,500}>\s*+</")
_EMPTY_MAIN = re.compile(rb"(?i)<main(?:\s[^<>]{0,500})?>\s*+</main")
_EMPTY_CUSTOM_ELEMENT = re.compile(
    rb"(?i)<([a-z][a-z0-9]{0,30}-[a-z0-9-]{1,40})(?:\s[^<>]{0,500})?>\s*+</\1\s*>"
)
_EMPTY_CONTAINER = re.compile(
    rb"(?i)<(?:div|main|section|article|ul|ol|dl|table|tbody|p|pre|span|output|h[1-6])"
    rb"(\s[^<>]{0,500})>\s*+</"
)
_NAMES = re.compile(rb"(?i)\s(id|class)\s*=\s*(?:\"([^\"]{1,200})\"|'([^']{1,200})'|([\w-]{1,80}))")
_CONTENT_NAME = re.compile(
    r"(?i)(?:[a-z0-9]+[-_])?(?:content|main|results?|list|listing|items|posts|products?|"
    r"articles?|feed|output|data|quotes|view|page|entries|cards|container)(?:[-_][a-z0-9]+)?"
)
_WIDGET_NAME = re.compile(
    r"(?i)(?:^|[-_])(?:ads?|adslot|gpt|taboola|outbrain|banner|cookies?|consent|modal|popup|"
    r"overlay|toast|recaptcha|captcha|turnstile|map|fb|disqus|comments?|replies|related|chat|"
    r"search|autocomplete|icons?|clear|clearfix|spacer|arrow|menu|nav|sidebar|header|footer|"
    r"error|alert|status|message|year|date|clock|count|counter|badge|tooltip|share|social|"
    r"likes|rating|weather|widget|ticker|newsletter|youtube|vimeo|video|audio|player|toggle|"
    r"button|lottie|viewer)(?:$|[-_0-9])"
)
_NAME_IN_SCRIPT = re.compile(rb"[\"'`#.]([A-Za-z_][\w-]{0,80})(?=[\"'`\s])")
_FETCHES = re.compile(
    rb"\bfetch\s*\(|XMLHttpRequest|\.ajax\s*\(|\$\.(?:get|post|getJSON)\s*\(|\.load\s*\(|\baxios\b|"
    rb"EventSource\s*\(|WebSocket\s*\(|\bimport\s*\("
)
_WRITES = re.compile(
    rb"\.innerHTML|\.textContent|\.innerText|insertAdjacent|\.append(?:Child)?\s*\(|"
    rb"replaceChildren|createTextNode|\.html\s*\("
)
# What counts visitors, sells adverts, asks for consent or draws fonts brings no content.
_SERVICES = (
    *("google-analytics", "googleanalytics", "googletagmanager", "googlesyndication", "gtag("),
    *("gtm.js", "datalayer", "doubleclick", "adsbygoogle", "analytics", "matomo", "_paq", "piwik"),
    *("plausible", "fathom", "umami", "beacon", "hotjar", "clarity.ms", "facebook.net"),
    *("fontawesome", "typekit", "recaptcha", "hcaptcha", "email-decode", "consent", "polyfill"),
    "rocket-loader",
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
# A name that nearly every language leaves as it is.
_PLEA = re.compile(r"(?i)java\s?script|джаваскрипт|جافا ?سكر[يی]بت|자바스크립트")
_WIDGET_PLEA = re.compile(r"(?i)comment|disqus|kommentar|comentario|e-?mail|video|captcha")
_WAITING = re.compile(
    r"(?im)^\W*(?:(?:loading|please wait|one moment|just a moment|hang tight|redirecting|"
    r"(?:checking|verifying) (?:your |if )|wird geladen|lädt|bitte warten|chargement|"
    r"veuillez patienter|cargando|espere|caricamento|attendere|carregando|aguarde|"
    r"even geduld|ładowanie|načítání|yükleniyor|загрузка|подождите)\b|"
    r"加载中|正在加载|載入中|请稍候|読み込み中|로딩|불러오는 중).{0,60}$"
)

Sign = Callable[[Outline], str | None]


def find_shell_signs(reading: PageEvidence) -> str | None:
    """Return what shows that a page needs JavaScript to show its content; None if nothing does.

    Costs a quarter of a millisecond on most pages, tens for the largest, and never raises.
    """
    amount = reading.text_amount if reading.is_html else None
    if amount is None or amount.exceeds(_MAX_SENTENCE_BYTES, _MAX_TEXT_BYTES):
        return None
    outline = _without_services(read_outline(reading.page.body))
    if not outline.inline_scripts and not outline.script_addresses:
        return None
    words = outline.word_count
    signs = (find(outline) for max_words, find in _SIGNS if words <= max_words)
    sign = next(filter(None, signs), None)
    return f"{sign}, and there are about {words} words" if sign else None


def _without_services(outline: Outline) -> Outline:
    """Leave out the scripts that bring no content; a page with no others is a static one."""
    codes, addresses = outline.inline_scripts, outline.script_addresses
    return replace(
        outline,
        inline_scripts=tuple(
            code
            for code in codes
            if len(code) > _MAX_SNIPPET_BYTES or not _is_service(_decode(code))
        ),
        script_addresses=tuple(address for address in addresses if not _is_service(address)),
    )


def _is_service(script: str) -> bool:
    lowered = script.lower()
    return any(service in lowered for service in _SERVICES)


def _empty_root(outline: Outline) -> str | None:
    for root in islice(_ROOT.finditer(outline.markup), _MAX_ROOTS):
        if _EMPTY_REST.match(outline.markup, root.end()):
            return f"the application's root '{_decode(root[1])}' is empty"
    return None


def _plea_for_javascript(outline: Outline) -> str | None:
    text = read_text(outline.noscript)
    plea = _PLEA.search(text)
    if plea is None or _WIDGET_PLEA.search(text):
        return None
    return f"it asks for JavaScript ('{text[max(0, plea.start() - 60) : plea.end() + 30]}')"


def _container_that_a_script_fills(outline: Outline) -> str | None:
    code = _inline_code(outline)
    if not _FETCHES.search(code) and not _WRITES.search(code):
        return None
    named_in_code = {_decode(name) for name in _NAME_IN_SCRIPT.findall(code)}
    has_sentences = outline.sentence_bytes > _MAX_SENTENCE_BYTES_AROUND_CONTAINER
    for _, name in _names_of_empty_containers(outline.markup):
        if name in named_in_code and (not has_sentences or _CONTENT_NAME.fullmatch(name)):
            return f"a script fills the empty container '{name}'"
    return None


def _empty_content(outline: Outline) -> str | None:
    if _EMPTY_MAIN.search(outline.markup):
        return "its <main> is empty"
    if not outline.script_addresses:
        return None
    is_bare = _is_bare(outline)
    for attribute, name in _names_of_empty_containers(outline.markup):
        if attribute == "id" and (is_bare or _CONTENT_NAME.fullmatch(name)):
            return f"the container '{name}' is empty"
    return None


def _fetching_script(outline: Outline) -> str | None:
    code = _inline_code(outline)
    fetches = _is_bare(outline) and _FETCHES.search(code) and _WRITES.search(code)
    return "a script fetches and writes what is to be shown" if fetches else None


def _is_bare(outline: Outline) -> bool:
    """Whether there is no more than a frame: a heading, menus, a footer."""
    return (
        outline.word_count <= _MAX_SPARSE_WORDS
        and outline.sentence_bytes <= _MAX_SENTENCE_BYTES_OF_FRAME
    )


def _names_of_empty_containers(markup: bytes) -> Iterator[tuple[str, str]]:
    """Yield the ids and classes of what holds nothing, each after its attribute's name."""
    names: dict[tuple[str, str], None] = {}
    for container in _EMPTY_CONTAINER.finditer(markup):
        for attribute, *values in _NAMES.findall(container[1]):
            for name in _decode(b"".join(values)).split():
                names[_decode(attribute).lower(), name] = None
        if len(names) > _MAX_CONTAINERS:
            break
    return ((attribute, name) for attribute, name in names if not _WIDGET_NAME.search(name))


def _skeleton(outline: Outline) -> str | None:
    return "it shows a skeleton of what is to come" if _SKELETON.search(outline.markup) else None


def _writing_script(outline: Outline) -> str | None:
    return "a script writes the page" if _WRITES_MARKUP.search(_inline_code(outline)) else None


def _root_without_text(outline: Outline) -> str | None:
    root = _ROOT.search(outline.markup)
    if root is None:
        return None
    words = len(read_text(outline.markup[root.end() :]).split())
    return f"the root '{_decode(root[1])}' holds no text" if words <= _MAX_BARE_WORDS else None


def _empty_custom_element(outline: Outline) -> str | None:
    found = (_decode(element[1]) for element in _EMPTY_CUSTOM_ELEMENT.finditer(outline.markup))
    name = next((name for name in found if not _WIDGET_NAME.search(name)), None)
    return f"the element '{name}' is empty" if name else None


def _waiting(outline: Outline) -> str | None:
    found = _WAITING.search(outline.text) or _WAITING.search(outline.title)
    return f"it says '{found[0].strip()}'" if found else None


def _redirect(outline: Outline) -> str | None:
    if _REFRESH.search(outline.noscript):
        return "readers without JavaScript are sent elsewhere"
    return "a script leads elsewhere" if _REDIRECT.search(_inline_code(outline)) else None


def _application_state(outline: Outline) -> str | None:
    found = _STATE.search(_inline_code(outline)) or _STATE.search(outline.markup)
    return f"it has an application's marks ({_decode(found[0]).strip()})" if found else None


def _heavy_scripts(outline: Outline) -> str | None:
    size = sum(map(len, outline.inline_scripts))
    return f"it has {size} bytes of scripts" if size > _HEAVY_SCRIPT_BYTES else None


def _scripts_alone(_: Outline) -> str | None:
    return "it has scripts"


def _inline_code(outline: Outline) -> bytes:
    # The code of a page is short; what is long is data.
    codes = sorted(outline.inline_scripts, key=len)
    return b"\n".join(codes)[:_MAX_SEARCHED_BYTES]


def _decode(name: bytes) -> str:
    return name.decode("utf-8", "replace")


# The stronger a sign, the more words may stand around it; the first that is found is told.
_SIGNS: tuple[tuple[int, Sign], ...] = (
    (_MAX_WORDS_AROUND_ROOT, _empty_root),
    (_MAX_THIN_WORDS, _plea_for_javascript),
    (_MAX_THIN_WORDS, _container_that_a_script_fills),
    (_MAX_THIN_WORDS, _skeleton),
    (_MAX_THIN_WORDS // 2, _empty_content),
    (_MAX_SPARSE_WORDS, _fetching_script),
    (_MAX_SPARSE_WORDS, _writing_script),
    (_MAX_SPARSE_WORDS, _root_without_text),
    (_MAX_SPARSE_WORDS, _empty_custom_element),
    (_MAX_SPARSE_WORDS, _waiting),
    (_MAX_SPARSE_WORDS // 2, _redirect),
    (_MAX_SPARSE_WORDS // 3, _application_state),
    (_MAX_SPARSE_WORDS // 3, _heavy_scripts),
    (_MAX_BARE_WORDS, _scripts_alone),
)
