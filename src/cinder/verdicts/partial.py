"""Partial pages: responses that break off before their end."""

from cinder.models.document import FetchSource
from cinder.verdicts.evidence import PageEvidence, has_unclosed_element
from cinder.verdicts.phrases import any_of

_TAIL_BYTES = 2_000
_MAX_TAIL_LINES = 8
_JSON_TYPES = ("application/json", "application/ld+json", "application/feed+json")
_XML_ENDINGS = ("/xml", "+xml")
# Elements that HTML does not let a page leave open.
_CONTAINERS = (b"div", b"article", b"main", b"section")

_MORE_TO_COME = any_of(
    r"\W*loading (?:more|next)(?: \w+){0,3}\W*|\W*weitere \w+ werden geladen\W*",
    r"\W*chargement de la suite\W*|\W*(?:cargando más|carregando mais)(?: \w+){0,2}\W*",
    r"\W*(?:正在加载更多|加载更多中|さらに読み込み中)\W*",
)


def find_truncation_signs(reading: PageEvidence) -> str | None:
    """Return what shows that an answer is not whole; None if nothing does."""
    page = reading.page
    if page.is_cut:
        return f"the answer broke off after {len(page.body)} bytes"
    if reading.is_content_cut:
        return "a limit cost some of the content: the warnings say which"
    if page.source is not FetchSource.NATIVE:
        return None
    if reading.is_html:
        return _cut_html(page.body) or _loader_at_end(reading)
    return _cut_data(page.body, page.content_type)


def _cut_html(body: bytes) -> str | None:
    tail = body[-_TAIL_BYTES:].lower()
    if not body or b"</html" in tail or b"</body" in tail:
        return None
    if has_unclosed_element(body):
        return "the HTML ends inside a script, a style or a comment"
    if tail.rfind(b"<") > tail.rfind(b">"):
        return f"the HTML ends inside a tag ('{_decode(tail[tail.rfind(b'<') :][:40])}')"
    if tail.rstrip().endswith(b">"):
        return None
    name = next((name for name in _CONTAINERS if _is_left_open(body, name)), None)
    return f"the HTML ends in the text of an open <{name.decode()}>" if name else None


def _is_left_open(body: bytes, name: bytes) -> bool:
    return body.count(b"<" + name) > body.count(b"</" + name)


def _loader_at_end(reading: PageEvidence) -> str | None:
    if reading.is_long:
        return None
    lines = reading.outline.text.splitlines()[-_MAX_TAIL_LINES:]
    loader = next((line for line in lines if _MORE_TO_COME.fullmatch(line[:80].lower())), None)
    return f"the page ends with '{loader.strip()}'" if loader else None


def _cut_data(body: bytes, content_type: str) -> str | None:
    data = body.strip()
    if content_type in _JSON_TYPES:
        is_cut = data[:1] in (b"{", b"[") and data[-1:] not in (b"}", b"]")
    else:
        is_cut = content_type.endswith(_XML_ENDINGS) and data[:1] == b"<" and data[-1:] != b">"
    return f"the data ends with '{_decode(data[-20:])}'" if is_cut else None


def _decode(text: bytes) -> str:
    return text.decode("utf-8", "replace")
