"""Screenshots in a result: scaled for the model to look at, and linked where they are saved."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mcp_types as types

from cinder.model.document import Document, Json, Media
from cinder.model.request import ActionType, Format
from cinder.model.saved import SavedKind
from cinder.services.scraping.outcome import ScrapeOutcome
from cinder.surfaces.mcp.content import body_annotations, note_annotations, show_image
from cinder.surfaces.mcp.image_scaling import PNG, Picture, read_png, scale_png
from cinder.surfaces.mcp.page_header import page_name

# Each costs a model about 1,600 tokens.
MAX_IMAGES = 5

_IN_BLOCKS = (Format.SCREENSHOT, Format.FULL_SCREENSHOT, "screenshotFormat")


@dataclass(frozen=True, slots=True)
class View:
    """One of a document's screenshots, and what of it a result shows."""

    label: str
    original: Media
    picture: Picture | None = None
    """What is shown; None where it is not."""


async def view_screenshots(document: Document, max_edge: int) -> list[View]:
    """Return the page's and its actions' screenshots in order, the first few scaled to be shown."""
    views = [View(label, original) for label, original in _screenshots(document)]
    if not views:
        return []
    # Unpacking and packing a large picture would hold up the event loop.
    shown = await asyncio.to_thread(_scale, views[:MAX_IMAGES], max_edge)
    return [*shown, *views[MAX_IMAGES:]]


def _screenshots(document: Document) -> Iterator[tuple[str, Media]]:
    if document.screenshot is not None:
        yield "the page", document.screenshot
    for index, action in enumerate(document.actions):
        if action.screenshot is not None:
            name = f" ({action.name})" if action.name else ""
            yield f"actions[{index}]{name}", action.screenshot


def _scale(views: Sequence[View], max_edge: int) -> list[View]:
    return [
        View(view.label, view.original, scale_png(view.original.data, max_edge)) for view in views
    ]


def describe_screenshots(
    outcome: ScrapeOutcome, views: Sequence[View], data: dict[str, Json]
) -> dict[str, Json]:
    """Return an answer without its pictures' bytes, which stand in the content blocks."""
    kept = {name: value for name, value in data.items() if name not in _IN_BLOCKS}
    actions = data.get("actions")
    if isinstance(actions, list):
        kept["actions"] = [_describe_action(action) for action in actions]
    if views:
        kept["message"] = _where_they_are(outcome, views)
    return kept


def _describe_action(action: Json) -> Json:
    """Return an action without its picture, and a script's result as JSON text.

    A schema that every provider accepts has no field that holds just any value.
    """
    if not isinstance(action, dict):
        return action
    shown = {name: value for name, value in action.items() if name not in _IN_BLOCKS}
    if action["type"] == ActionType.EXECUTE_JAVASCRIPT:
        result = action["result"]
        is_text = isinstance(result, str)
        shown["result"] = result if is_text else json.dumps(result, ensure_ascii=False)
    return shown


def screenshot_blocks(outcome: ScrapeOutcome, views: Sequence[View]) -> list[types.ContentBlock]:
    """Return the pictures that are shown, and the link to the page's own where it is saved."""
    modified = outcome.document.scraped_at
    images: list[types.ContentBlock] = [
        show_image(PNG, view.picture.data, body_annotations(modified))
        for view in views
        if view.picture is not None
    ]
    return [*images, *link_screenshot(outcome)]


def link_screenshot(outcome: ScrapeOutcome) -> list[types.ResourceLink]:
    """Return the link to the page's screenshot; none where there is none, or it is not saved."""
    screenshot, uri = outcome.document.screenshot, _uri(outcome)
    if screenshot is None or uri is None:
        return []
    link = types.ResourceLink(
        uri=uri,
        name=page_name(outcome),
        description=f"The screenshot of {outcome.document.url}",
        mime_type=screenshot.mime,
        size=len(screenshot.data),
        annotations=note_annotations(outcome.document.scraped_at),
    )
    return [link]


def _where_they_are(outcome: ScrapeOutcome, views: Sequence[View]) -> str:
    shown = [_describe_shown(view) for view in views if view.picture is not None]
    hidden = [view.label for view in views if view.picture is None]
    sentences = []
    if shown:
        sentences.append(f"Screenshots in the content blocks, in order: {', '.join(shown)}.")
    if hidden:
        sentences.append(
            f"Not shown: {', '.join(hidden)}; a result holds at most {MAX_IMAGES} pictures, and "
            "none too large to be scaled."
        )
    if uri := _uri(outcome):
        sentences.append(f"resources/read of {uri} gives the page's screenshot unscaled.")
    return " ".join(sentences)


def _describe_shown(view: View) -> str:
    picture, original = view.picture, read_png(view.original.data)
    if picture is None or original is None:
        return view.label
    size = f"{picture.width}x{picture.height}"
    if (picture.width, picture.height) == (original.width, original.height):
        return f"{view.label}, {size}"
    return f"{view.label}, {size} (scaled from {original.width}x{original.height})"


def _uri(outcome: ScrapeOutcome) -> str | None:
    return outcome.saved.uris.get(SavedKind.SCREENSHOT) if outcome.saved else None
