"""The tools `scrape_extract_content` and `scrape_text_similarity`, which fetch nothing."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

import mcp_types as types
from pydantic import BaseModel, ConfigDict, Field

from cinder.api.arguments import Arguments
from cinder.app.composition import App
from cinder.mcp.results import body_chars, json_result
from cinder.mcp.schema import Parameter
from cinder.mcp.tools.base import TEXT_ICON, Tool, read_only
from cinder.models.caller import Caller, TokenScope
from cinder.models.document import Json
from cinder.services.excerpt import fit_items, fit_lists

MAX_HTML_CHARS = 10 * 1024 * 1024
MAX_TEXT_CHARS = 1024 * 1024

_LISTS = ("headings", "links", "images")


class PlainArguments(Arguments):
    """Arguments with the same names on the wire as here."""

    model_config = ConfigDict(alias_generator=None, use_attribute_docstrings=False)


class HtmlArguments(PlainArguments):
    """An HTML string, and the base of its relative links."""

    html: Annotated[str, Field(max_length=MAX_HTML_CHARS)]
    base_url: str = ""


class TextsArguments(PlainArguments):
    """Two texts to compare."""

    text_a: Annotated[str, Field(max_length=MAX_TEXT_CHARS)]
    text_b: Annotated[str, Field(max_length=MAX_TEXT_CHARS)]


class StatusOutput(BaseModel):
    """Whether the call succeeded; all other fields are optional."""

    status: Literal["ok", "error"]
    error: str | None = None


class HtmlOutput(StatusOutput):
    """The facts about an HTML string."""

    title: str | None = None
    headings: list[dict[str, Any]] | None = None
    paragraph_count: int | None = None
    link_count: int | None = None
    image_count: int | None = None
    word_count: int | None = None
    content_hash: str | None = None
    meta: dict[str, Any] | None = None
    links: list[str] | None = None
    images: list[str] | None = None
    warning: str | None = None


class SimilarityOutput(StatusOutput):
    """The similarity of two texts."""

    similarity: float | None = None


async def extract_content(
    app: App, arguments: HtmlArguments, _caller: Caller
) -> types.CallToolResult:
    """Return the facts about an HTML string."""
    facts = asdict(await app.text_tools.inspect(arguments.html, arguments.base_url))
    data: dict[str, Json] = {"status": "ok"} | facts
    # The title, the lists and the meta tags share the room.
    share = body_chars(app.settings.server) // (len(_LISTS) + 2)
    is_title_cut = len(facts["title"] or "") > share // 2
    data["title"] = (facts["title"] or "")[: share // 2]
    data |= {name: list(facts[name]) for name in _LISTS}
    data["meta"] = dict(fit_items(list(facts["meta"].items()), share))
    cuts = [fit_lists(data, _LISTS, share), "The title is cut." if is_title_cut else None]
    if warning := " ".join(cut for cut in cuts if cut):
        data["warning"] = f"{warning} Give a smaller part of the HTML to see the rest."
    return json_result(data)


async def text_similarity(
    app: App, arguments: TextsArguments, _caller: Caller
) -> types.CallToolResult:
    """Return the similarity of two texts."""
    similarity = await app.text_tools.similarity(arguments.text_a, arguments.text_b)
    return json_result({"status": "ok", "similarity": similarity})


def fail(text: str) -> types.CallToolResult:
    """Return a failure with structured content that matches the output schema."""
    return json_result({"status": "error", "error": text}, is_error=True)


_PURE = read_only(idempotent=True, open_world=False)

EXTRACT_CONTENT = Tool(
    name="scrape_extract_content",
    title="Inspect an HTML string",
    description=(
        "List what a given HTML string holds: title, headings, links, images, meta tags, counts, "
        "content hash. Fetches nothing; for a URL use scrape."
    ),
    arguments=HtmlArguments,
    parameters={
        "html": Parameter(description="The string"),
        "base_url": Parameter(description="For relative links"),
    },
    output=HtmlOutput,
    annotations=_PURE,
    scope=TokenScope.SCRAPE,
    run=extract_content,
    icon=TEXT_ICON,
    fail=fail,
)

TEXT_SIMILARITY = Tool(
    name="scrape_text_similarity",
    title="Compare two texts",
    description=(
        "Jaccard similarity of two texts' word sets: 1.0 the same words, 0.0 none shared. Best "
        "for near-duplicates."
    ),
    arguments=TextsArguments,
    parameters={
        "text_a": Parameter(description="One text"),
        "text_b": Parameter(description="The other"),
    },
    output=SimilarityOutput,
    annotations=_PURE,
    scope=TokenScope.SCRAPE,
    run=text_similarity,
    icon=TEXT_ICON,
    fail=fail,
    brings_page_text=False,
)
