"""The base of all tools: description, icons, output model, and the function that answers calls."""

import base64
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

import mcp_types as types
from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from cinder.api.arguments import Arguments, CrossCheck, check_limits, read_arguments
from cinder.app.composition import App
from cinder.mcp.coercion import coerce_arguments
from cinder.mcp.results import mark_untrusted, text_failure
from cinder.mcp.schema import Parameter, input_schema, output_schema
from cinder.models.caller import OWNER_CALLER, Caller, TokenScope

_SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="{}"/></svg>'


def _icon(path: str) -> types.Icon:
    encoded = base64.b64encode(_SVG.format(path).encode()).decode()
    return types.Icon(src=f"data:image/svg+xml;base64,{encoded}")


# Icons are part of every tool list, so their paths are as short as possible.
PAGE_ICON = _icon("M1 0h6v8H1zM2 2v1h4V2z")
LENS_ICON = _icon("M3 0a3 3 0 1 0 2 5l2 3 1-1-3-3")
TREE_ICON = _icon("M3 0h2v3h3v5H5V4H3v4H0V3h3z")
TABLE_ICON = _icon("M0 0h8v8H0zM1 3v4h2V3z")
TEXT_ICON = _icon("M0 1h8v1H0zm0 3h5v1H0z")


def read_only(*, idempotent: bool, open_world: bool) -> types.ToolAnnotations:
    """Return the annotations of a tool that changes nothing."""
    return types.ToolAnnotations(
        read_only_hint=True,
        destructive_hint=False,
        idempotent_hint=idempotent,
        open_world_hint=open_world,
    )


class ToolOutput(BaseModel):
    """Structured content, spelled in camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel)


A = TypeVar("A", bound=Arguments)

# Reports progress to a waiting client: what is done, the total if known, and a message.
ReportProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]


async def ignore_progress(_done: float, _of: float | None, _words: str | None) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool(Generic[A]):
    """One tool."""

    name: str
    title: str
    description: str
    arguments: type[A]
    parameters: Mapping[str, Parameter]
    """The arguments that the schema shows, in order. Others are accepted as well."""
    output: type[BaseModel]
    annotations: types.ToolAnnotations
    scope: TokenScope
    """The scope that a token needs to see and call the tool."""
    run: Callable[[App, A, Caller], Awaitable[types.CallToolResult]]
    wait: Callable[[App, A, Caller, ReportProgress], Awaitable[None]] | None = None
    """Waits before a call is answered, and reports progress."""
    with_login: Callable[[Mapping[str, Any]], dict[str, Any] | None] | None = None
    """Returns the arguments of a call after a login; None if a login would not help."""
    read: Callable[[type[A], Mapping[str, Any], Collection[str]], dict[str, Any]] = coerce_arguments
    """Coerces the arguments of a call."""
    checks: tuple[CrossCheck, ...] = ()
    fail: Callable[[str], types.CallToolResult] = text_failure
    brings_page_text: bool = True
    """Whether results hold text of pages, and are marked as untrusted."""
    icon: types.Icon | None = None
    meta: Mapping[str, Any] | None = None  # Any: hosts define it
    """Hints for hosts that know them."""
    read_only_variant: "Tool[A] | None" = None
    """The variant that only reads pages; None if the tool itself only reads."""

    def as_read_only(self) -> "Tool[A]":
        """Return the variant that only reads pages."""
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
        raw: Mapping[str, Any],
        caller: Caller = OWNER_CALLER,
        report: ReportProgress = ignore_progress,
    ) -> types.CallToolResult:
        """Answer a call.

        Raises:
            CinderError: the arguments are invalid, or the call failed.
        """
        check_limits(raw, app.settings.limits)
        coerced = self.read(self.arguments, raw, self.parameters)
        # Again, for what was JSON in a string.
        check_limits(coerced, app.settings.limits)
        arguments = read_arguments(self.arguments, coerced, *self.checks)
        if self.wait is not None:
            await self.wait(app, arguments, caller, report)
        result = await self.run(app, arguments, caller)
        return mark_untrusted(result) if self.brings_page_text else result
