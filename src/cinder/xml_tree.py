"""Parses XML into a plain tree, with limits on size, depth and entities."""

import re
from dataclasses import dataclass, field
from html import escape
from html.entities import html5
from xml.parsers.expat import ExpatError, ParserCreate

MAX_DEPTH = 100
MAX_NODES = 300_000

_SEPARATOR = " "
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_NAMED = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_OF_XML = ("amp", "lt", "gt", "quot", "apos")


class UnreadableXml(ValueError):
    """The text is not XML, or more than is read."""


@dataclass(slots=True)
class XmlNode:
    """An element: its name without and its namespace, both lower-case, and what it holds."""

    name: str
    namespace: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    content: list["XmlNode | str"] = field(default_factory=list)

    @property
    def children(self) -> list["XmlNode"]:
        """The elements in it."""
        return [part for part in self.content if isinstance(part, XmlNode)]

    @property
    def text(self) -> str:
        """The text in it, that of the elements in it included."""
        parts = (part if isinstance(part, str) else part.text for part in self.content)
        return "".join(parts).strip()

    @property
    def inner_html(self) -> str:
        """What it holds, as HTML."""
        return "".join(
            escape(part, quote=False) if isinstance(part, str) else part._outer_html
            for part in self.content
        )

    @property
    def _outer_html(self) -> str:
        shown = "".join(f' {name}="{escape(value)}"' for name, value in self.attributes.items())
        return f"<{self.name}{shown}>{self.inner_html}</{self.name}>"

    def find(self, *names: str) -> "XmlNode | None":
        """Return the first child of the first of these names that there is."""
        for name in names:
            for child in self.children:
                if child.name == name:
                    return child
        return None

    def text_of(self, *names: str) -> str:
        """Return the text of the first child that has any, in the order of the names."""
        for name in names:
            for child in self.children:
                if child.name == name and (text := child.text):
                    return text
        return ""


def parse_xml(text: str) -> XmlNode:
    """Return the root of an XML document; HTML's names for characters are understood.

    Raises:
        UnreadableXml: it is not well-formed, declares entities, or is too deep or too large.
    """
    reader = _Reader()
    cleaned = _NAMED.sub(_replace_name, _NOT_XML.sub(" ", text))
    try:
        reader.parser.Parse(cleaned.encode("utf-8", "replace"), True)  # noqa: FBT003 - that it is all
    except ExpatError as exc:
        raise UnreadableXml(f"it is not well-formed XML: {exc}") from exc
    if reader.root is None:
        raise UnreadableXml("it has no elements")
    return reader.root


def _replace_name(found: re.Match[str]) -> str:
    name = found[1]
    return found[0] if name in _OF_XML else escape(html5.get(f"{name};", found[0]), quote=False)


class _Reader:
    """Builds the tree while expat goes along the text."""

    def __init__(self) -> None:
        self.parser = ParserCreate(encoding="utf-8", namespace_separator=_SEPARATOR)
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._add_text
        self.parser.EntityDeclHandler = self._refuse_entity
        self.root: XmlNode | None = None
        self._open: list[XmlNode] = []
        self._count = 0

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        namespace, _, name = tag.rpartition(_SEPARATOR)
        plain = {key.rpartition(_SEPARATOR)[2].lower(): value for key, value in attributes.items()}
        node = XmlNode(name.lower(), namespace.lower(), plain)
        self._count += 1
        if self._count > MAX_NODES or len(self._open) >= MAX_DEPTH:
            raise UnreadableXml("it is too large or too deeply nested")
        if self._open:
            self._open[-1].content.append(node)
        else:
            self.root = node
        self._open.append(node)

    def _end(self, _tag: str) -> None:
        self._open.pop()

    def _add_text(self, text: str) -> None:
        if self._open:
            self._open[-1].content.append(text)

    def _refuse_entity(self, *_declaration: object) -> None:
        raise UnreadableXml("it declares entities of its own, which are never expanded")
