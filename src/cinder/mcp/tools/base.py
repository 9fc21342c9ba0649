"""The base of all tools: description, icons, output model, and the function that answers calls."""

import base64
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import mcp_types as types
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from cinder.api.arguments import Arguments, CrossCheck, check_limits, read_arguments
from cinder.app import App
from cinder.mcp.coercion import coerce_arguments
from cinder.mcp.results import mark_untrusted, text_failure
from cinder.mcp.schema import Parameter, input_schema, output_schema
from cinder.models.caller import OWNER_CALLER, Caller, TokenScope

_SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="{}"/></svg>'


def _icon(path: str) -> types.Icon:
    encoded = base64.b64encode(_SVG.format(path).encode()).decode()
    return types.Icon(src=f"data:image/svg+xml;base64,{encoded}")


# Each is sent with every list of tools: the shortest path that can be told from the others.
PAGE_ICON = _icon("M1 0h6v8H1zM2 2v1h4V2z")
LENS_ICON = _icon("M3 0a3 3 0 1 0 2 5l2 3 1-1-3-3")
TREE_ICON = _icon("M3 0h2v3h3v5H5V4H3v4H0V3h3z")
TABLE_ICON = _icon("M0 0h8v8H0zM1 3v4h2V3z")
TEXT_ICON = _icon("M0 1h8v1H0zm0 3h5v1H0z")


class ToolOutput(BaseModel):
    """Structured content, spelled in camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel)


A = TypeVar("A", bound=Arguments)

# Tells a client that waits how far it is: what is done, of how much where that is known, in words.
ReportProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


async def ignore_progress(_done: float, _of: float | None, _words: str | None) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """One tool."""

    name: str
    title: str
    description: str
    arguments: type[A]
    parameters: Mapping[str, Parameter]
    """Those arguments that the schema shows, in order. Others are accepted all the same."""
    output: type[BaseModel]
    annotations: types.ToolAnnotations
    scope: TokenScope
    """What a caller's token must open, lest he does not even see the tool."""
    run: Callable[[App, A, Caller], Awaitable[types.CallToolResult]]
    wait: Callable[[App, A, Caller, ReportProgress], Awaitable[None]] | None = None
    """What a call waits for before it is answered, telling how far that is."""
    with_login: Callable[[Mapping[str, Any]], dict[str, Any] | None] | None = None
    """Returns a call's arguments once the owner has logged in; None where no login would help."""
    read: Callable[[type[A], Mapping[str, Any], Collection[str]], dict[str, Any]] = coerce_arguments
    """Returns the arguments that were meant by those that were given."""
    checks: tuple[CrossCheck, ...] = ()
    fail: Callable[[str], types.CallToolResult] = text_failure
    brings_page_text: bool = True
    """Whether an answer holds what pages say, and is therefore marked as untrusted."""
    icon: types.Icon | None = None
    meta: Mapping[str, Any] | None = None  # Any: whatever hosts look for
    """Hints for hosts that know them."""
    read_only_variant: "Tool[A] | None" = None
    """The same tool where nothing may be done on a page but read; None where it is that already."""

    def as_read_only(self) -> "Tool[A]":
        """Return the tool as it is offered where pages may only be read."""
        return self.read_only_variant or self

    def describe(self) -> types.Tool:
        """Return the tool as `tools/list` shows it."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=input_schema(self.arguments, self.parameters),
            output_schema=output_schema(self.output),
            annotations=self.annotations,
            icons=[self.icon] if self.icon else None,
            meta=dict(self.meta) if self.meta else None,
        )

    async def call(
        self,
        app: App,
        given: Mapping[str, Any],
        caller: Caller = OWNER_CALLER,
        report: ReportProgress = ignore_progress,
    ) -> types.CallToolResult:
        """Answer a call.

        Raises:
            CinderError: the arguments are wrong, or what they ask for could not be done.
        """
        check_limits(given, app.settings.limits)
        meant = self.read(self.arguments, given, self.parameters)
        # Again, for what stood as JSON in a text.
        check_limits(meant, app.settings.limits)
        arguments = read_arguments(self.arguments, meant, *self.checks)
        if self.wait is not None:
            await self.wait(app, arguments, caller, report)
        result = await self.run(app, arguments, caller)
        return mark_untrusted(result) if self.brings_page_text else result
