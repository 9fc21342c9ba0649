"""Toolsets: which tools a client sees, by the settings and by the headers of a request."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from cinder.config import ServerSettings, SettingsError
from cinder.surfaces.mcp.registry import TOOLS
from cinder.surfaces.mcp.tool import Tool

TOOLSETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "default": ("scrape", "cinder_search", "cinder_crawl", "cinder_get_crawl_status"),
        "scrape": ("scrape", "cinder_scrape"),
        "search": ("cinder_search", "cinder_search_and_scrape"),
        "crawl": ("cinder_crawl", "cinder_get_crawl_status"),
        "extract": ("cinder_extract",),
        "text": ("scrape_extract_content", "scrape_text_similarity"),
        "all": tuple(tool.name for tool in TOOLS),
    }
)

TOOLSETS_HEADER = "x-mcp-toolsets"
TOOLS_HEADER = "x-mcp-tools"
READ_ONLY_HEADER = "x-mcp-readonly"

_TRUE = frozenset({"1", "true", "yes", "on"})

Tools = Mapping[str, Tool[Any]]  # Any: see the registry


class UnknownName(ValueError):
    """There is no toolset, or no tool, of this name."""

    def __init__(self, kind: str, message: str) -> None:
        """Take whether it names a toolset or a tool, and what is wrong."""
        super().__init__(message)
        self.kind = kind


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What was asked for: toolsets, single tools beside them, and whether only to read."""

    toolsets: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    is_read_only: bool = False

    @classmethod
    def from_settings(cls, server: ServerSettings) -> "Selection":
        """Return what the owner wants."""
        return cls(
            toolsets=server.mcp_toolsets,
            tools=server.mcp_tools,
            is_read_only=server.mcp_read_only,
        )

    @classmethod
    def from_headers(cls, headers: Mapping[str, str]) -> "Selection":
        """Return what a request wants."""
        return cls(
            toolsets=_names(headers.get(TOOLSETS_HEADER, "")),
            tools=_names(headers.get(TOOLS_HEADER, "")),
            is_read_only=headers.get(READ_ONLY_HEADER, "").strip().lower() in _TRUE,
        )

    def names(self) -> frozenset[str] | None:
        """Return the tools selected by name; None where nothing was asked for.

        Raises:
            UnknownName: something was asked for that there is not.
        """
        if not self.toolsets and not self.tools:
            return None
        of_sets = [name for each in self.toolsets for name in _find("toolset", each, TOOLSETS)]
        everything = {name: (name,) for name in TOOLSETS["all"]}
        single = [name for each in self.tools for name in _find("tool", each, everything)]
        return frozenset((*of_sets, *single))


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools of one request."""

    listed: Tools
    callable: Tools
    """What else may be called: an answer may name a tool that is not worth listing to everybody."""


def offer(tools: Sequence[Tool[Any]], own: Selection, asked: Selection | None = None) -> Offer:
    """Return what is offered of the tools: a request may narrow what the owner chose, not widen it.

    Raises:
        UnknownName: something was asked for that there is not.
    """
    asked = asked or Selection()
    chosen = [names for each in (own, asked) if (names := each.names()) is not None]
    is_read_only = own.is_read_only or asked.is_read_only
    known = {tool.name: tool.for_reading() if is_read_only else tool for tool in tools}
    if not chosen:
        by_default = TOOLSETS["default"]
        listed = {name: tool for name, tool in known.items() if name in by_default}
        return Offer(listed, known)
    named = {name: tool for name, tool in known.items() if all(name in each for each in chosen)}
    return Offer(named, named)


def check_selection(server: ServerSettings) -> None:
    """Refuse settings that name what there is not.

    Raises:
        SettingsError: they do; the message has the nearest name.
    """
    try:
        Selection.from_settings(server).names()
    except UnknownName as error:
        raise SettingsError(f"server.mcp-{error.kind}s: {error} See docs/mcp.md.") from None


def _find(kind: str, name: str, known: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    if name in known:
        return known[name]
    raise UnknownName(kind, f"There is no {kind} {name[:100]!r}. {nearest_name(name, known)}")


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Return the sentence that names what was probably meant, or else all that there is."""
    names = list(known)
    near = difflib.get_close_matches(name[:100].lower(), names, n=1, cutoff=0.5)
    return f"Did you mean {near[0]}?" if near else f"Known are: {', '.join(names)}."


def _names(text: str) -> tuple[str, ...]:
    return tuple(name for part in text[:2_000].split(",") if (name := part.strip()))
