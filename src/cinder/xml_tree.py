"""Parses XML into a plain tree, with limits on size, depth and entities."""

import re
from dataclasses import dataclass, field
from html import escape
from html.entities import html5
from xml.parsers.expat import ExpatError, ParserCreate

MAX_DEPTH = 100
MAX_NODES = 300_000

_SEPARATOR = " "
_INVALID = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_ENTITIES = ("amp", "lt", "gt", "quot", "apos")


class UnreadableXml(ValueError):
    """The text is not XML, or exceeds the limits."""


@dataclass(slots=True)
class XmlNode:
    """An element: its local name in lower case, and its content."""

    name: str
    attributes: dict[str, str] = field(default_factory=dict)
    content: list["XmlNode | str"] = field(default_factory=list)

    @property
    def children(self) -> list["XmlNode"]:
        """The child elements."""
        return [part for part in self.content if isinstance(part, XmlNode)]

    @property
    def text(self) -> str:
        """The text, including that of all descendants."""
        parts = (part if isinstance(part, str) else part.text for part in self.content)
        return "".join(parts).strip()

    @property
    def inner_html(self) -> str:
        """The content as HTML."""
        parts = []
        for part in self.content:
            if isinstance(part, str):
                parts.append(escape(part, quote=False))
            else:
                pairs = part.attributes.items()
                shown = "".join(f' {name}="{escape(value)}"' for name, value in pairs)
                parts.append(f"<{part.name}{shown}>{part.inner_html}</{part.name}>")
        return "".join(parts)

    def find(self, *names: str) -> "XmlNode | None":
        """Return the first child with the first of these names that any child has."""
        for name in names:
            for child in self.children:
                if child.name == name:
                    return child
        return None

    def text_of(self, *names: str) -> str:
        """Return the first text that is not empty of a child, in the order of the names."""
        for name in names:
            for child in self.children:
                if child.name == name and (text := child.text):
                    return text
        return ""


def parse_xml(text: str) -> XmlNode:
    """Return the root of an XML document; HTML's named characters are replaced.

    Raises:
        UnreadableXml: it is not well-formed, declares entities, or is too deep or too large.
    """
    document = XmlNode("")
    path = [document]
    count = 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal count
        count += 1
        if count > MAX_NODES or len(path) > MAX_DEPTH:
            raise UnreadableXml("it is too large or too deeply nested")
        name = tag.rpartition(_SEPARATOR)[2]
        plain = {key.rpartition(_SEPARATOR)[2].lower(): value for key, value in attributes.items()}
        node = XmlNode(name.lower(), plain)
        path[-1].content.append(node)
        path.append(node)

    def add_text(data: str) -> None:
        path[-1].content.append(data)

    def refuse_entity(*_declaration: object) -> None:
        raise UnreadableXml("it declares entities, which are never expanded")

    parser = ParserCreate(encoding="utf-8", namespace_separator=_SEPARATOR)
    parser.buffer_text = True
    parser.StartElementHandler = start
    parser.EndElementHandler = lambda _tag: path.pop()
    parser.CharacterDataHandler = add_text
    parser.EntityDeclHandler = refuse_entity
    cleaned = _ENTITY.sub(_replace_entity, _INVALID.sub(" ", text))
    try:
        parser.Parse(cleaned.encode("utf-8", "replace"), True)  # noqa: FBT003 - the last chunk
    except ExpatError as exc:
        raise UnreadableXml(f"it is not well-formed XML: {exc}") from exc
    if not document.children:
        raise UnreadableXml("it has no elements")
    return document.children[0]


def _replace_entity(found: re.Match[str]) -> str:
    name = found[1]
    if name in _XML_ENTITIES:
        return found[0]
    return escape(html5.get(f"{name};", found[0]), quote=False)
