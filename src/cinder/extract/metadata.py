"""What a page says about itself: title, author, dates, OpenGraph, JSON-LD."""

from collections.abc import Iterable, Mapping

import can_ada
from selectolax.lexbor import LexborHTMLParser

from cinder.extract.dates import normalise_date
from cinder.extract.html_tree import collapse
from cinder.extract.json_ld import read_json_ld
from cinder.extract.links import web_address
from cinder.model.document import Json, PageMetadata

_MAX_VALUE_CHARS = 5_000
_MAX_META_TAGS = 500

_DESCRIPTION = ("description", "og:description", "twitter:description", "dc.description")
_LANGUAGE = ("content-language", "language", "dc.language", "og:locale")
_AUTHOR = ("author", "article:author", "dc.creator", "parsely-author", "sailthru.author")
_PUBLISHED = (
    *("article:published_time", "datepublished", "date", "pubdate", "publish-date", "dc.date"),
    *("dc.date.issued", "og:published_time", "parsely-pub-date", "sailthru.date"),
)
_MODIFIED = ("article:modified_time", "datemodified", "og:updated_time", "last-modified")
_IMAGES = ("og:image", "og:image:secure_url", "twitter:image", "twitter:image:src")


def read_metadata(tree: LexborHTMLParser, base: can_ada.URL | None) -> PageMetadata:
    """Collect a page's metadata; what it does not say is None or empty."""
    meta = read_meta_tags(tree)
    json_ld = read_json_ld(tree)
    return PageMetadata(
        title=page_title(tree) or meta.get("og:title") or _text_of(tree, "h1") or None,
        description=_first(meta, _DESCRIPTION),
        language=_attribute_of(tree, "html[lang]", "lang") or _first(meta, _LANGUAGE),
        author=_author(meta, json_ld),
        published=_date(meta, _PUBLISHED, json_ld, "datePublished") or _time_element(tree),
        modified=_date(meta, _MODIFIED, json_ld, "dateModified"),
        canonical=_canonical(tree, base),
        site_name=_first(meta, ("og:site_name", "application-name")),
        keywords=_keywords(meta),
        images=_images(meta, json_ld, base),
        open_graph={name: value for name, value in meta.items() if name.startswith("og:")},
        json_ld=json_ld,
    )


def page_title(tree: LexborHTMLParser) -> str:
    """Return the text of the page's `<title>`; that of a drawing does not count."""
    for element in tree.css("title"):
        if element.parent is not None and element.parent.tag != "svg":
            return _cut(element.text())
    return ""


def read_meta_tags(tree: LexborHTMLParser) -> dict[str, str]:
    """Return the meta tags by lower-case name, property or http-equiv; the first of each counts."""
    found: dict[str, str] = {}
    for element in tree.css("meta[content]")[:_MAX_META_TAGS]:
        attributes = element.attributes
        names = (attributes.get(key) for key in ("name", "property", "http-equiv", "itemprop"))
        name = next(filter(None, names), "").strip().lower()
        content = _cut(attributes.get("content"))
        if name and content:
            found.setdefault(name, content)
    return found


def _cut(text: str | None) -> str:
    return collapse((text or "")[: 2 * _MAX_VALUE_CHARS])[:_MAX_VALUE_CHARS]


def _text_of(tree: LexborHTMLParser, selector: str) -> str:
    element = tree.css_first(selector)
    return _cut(element.text()) if element else ""


def _attribute_of(tree: LexborHTMLParser, selector: str, name: str) -> str | None:
    element = tree.css_first(selector)
    return _cut(element.attributes.get(name)) or None if element else None


def _first(meta: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((meta[name] for name in names if name in meta), None)


def _author(meta: Mapping[str, str], json_ld: Iterable[Mapping[str, Json]]) -> str | None:
    # `article:author` is often the address of a profile, which names nobody.
    named = (meta[name] for name in _AUTHOR if name in meta)
    said = next((name for name in named if not name.startswith(("http:", "https:"))), None)
    return said or next(filter(None, (_name_of(item.get("author")) for item in json_ld)), None)


def _name_of(value: Json) -> str | None:
    if isinstance(value, list):
        return ", ".join(filter(None, map(_name_of, value))) or None
    if isinstance(value, dict):
        value = value.get("name")
    return _cut(value) or None if isinstance(value, str) else None


def _date(
    meta: Mapping[str, str],
    names: Iterable[str],
    json_ld: Iterable[Mapping[str, Json]],
    key: str,
) -> str | None:
    said = _first(meta, names) or next(filter(None, (_name_of(o.get(key)) for o in json_ld)), None)
    return normalise_date(said) if said else None


def _time_element(tree: LexborHTMLParser) -> str | None:
    """Return the date of an element that says it is the publication's, or of the only one."""
    marked = tree.css_first("time[itemprop=datePublished][datetime], time[pubdate][datetime]")
    times = [marked] if marked else tree.css("article time[datetime]") or tree.css("time[datetime]")
    if not times:
        return None
    said = _cut(times[0].attributes.get("datetime"))
    return normalise_date(said) if said else None


def _canonical(tree: LexborHTMLParser, base: can_ada.URL | None) -> str | None:
    href = _attribute_of(tree, "link[rel=canonical i][href]", "href")
    return web_address(base, href) if href else None


def _keywords(meta: Mapping[str, str]) -> tuple[str, ...]:
    said = _first(meta, ("keywords", "news_keywords")) or ""
    return tuple(dict.fromkeys(filter(None, (word.strip() for word in said.split(",")))))


def _images(
    meta: Mapping[str, str], json_ld: Iterable[Mapping[str, Json]], base: can_ada.URL | None
) -> tuple[str, ...]:
    said = [meta[name] for name in _IMAGES if name in meta]
    said += [address for item in json_ld for address in _image_addresses(item.get("image"))]
    found = (web_address(base, address) for address in said)
    return tuple(dict.fromkeys(filter(None, found)))


def _image_addresses(value: Json) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [address for item in value for address in _image_addresses(item)]
    if isinstance(value, dict):
        return _image_addresses(value.get("url") or value.get("contentUrl"))
    return []
