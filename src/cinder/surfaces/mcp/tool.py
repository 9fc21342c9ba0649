"""A tool: what the protocol tells of it, and the function that answers a call."""

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import mcp_types as types
from pydantic import BaseModel

from cinder.app import App
from cinder.model.caller import THE_OWNER, Caller, Scope
from cinder.surfaces.arguments import Arguments, CrossCheck, read_arguments
from cinder.surfaces.mcp.content import text_failure
from cinder.surfaces.mcp.flat_schema import Parameter, input_schema, output_schema
from cinder.surfaces.mcp.lenient import read_leniently
from cinder.surfaces.mcp.untrusted import mark_untrusted
from cinder.surfaces.request_limits import require_within

A = TypeVar("A", bound=Arguments)

# Tells a client that waits how far it is: what is done, of how much where that is known, in words.
Report: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


async def report_nothing(_done: float, _of: float | None, _words: str | None) -> None:
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
    scope: Scope
    """What a caller's token must open, lest he does not even see the tool."""
    run: Callable[[App, A, Caller], Awaitable[types.CallToolResult]]
    wait: Callable[[App, A, Caller, Report], Awaitable[None]] | None = None
    """What a call waits for before it is answered, telling how far that is."""
    with_login: Callable[[Mapping[str, Any]], dict[str, Any] | None] | None = None
    """Returns a call's arguments once the owner has logged in; None where no login would help."""
    read: Callable[[type[A], Mapping[str, Any], Collection[str]], dict[str, Any]] = read_leniently
    """Returns the arguments that were meant by those that were given."""
    checks: tuple[CrossCheck, ...] = ()
    fail: Callable[[str], types.CallToolResult] = text_failure
    brings_page_text: bool = True
    """Whether an answer holds what pages say, and is therefore marked as untrusted."""
    icon: types.Icon | None = None
    meta: Mapping[str, Any] | None = None  # Any: whatever hosts look for
    """Hints for hosts that know them."""
    reading_variant: "Tool[A] | None" = None
    """The same tool where nothing may be done on a page but read; None where it is that already."""

    def for_reading(self) -> "Tool[A]":
        """Return the tool as it is offered where pages may only be read."""
        return self.reading_variant or self

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
        caller: Caller = THE_OWNER,
        report: Report = report_nothing,
    ) -> types.CallToolResult:
        """Answer a call.

        Raises:
            CinderError: the arguments are wrong, or what they ask for could not be done.
        """
        require_within(given, app.settings.limits)
        meant = self.read(self.arguments, given, self.parameters)
        # Again, for what stood as JSON in a text.
        require_within(meant, app.settings.limits)
        arguments = read_arguments(self.arguments, meant, *self.checks)
        if self.wait is not None:
            await self.wait(app, arguments, caller, report)
        result = await self.run(app, arguments, caller)
        return mark_untrusted(result) if self.brings_page_text else result
