"""The size of a result: how much text it may hold."""

from collections.abc import Sequence
from dataclasses import replace

from cinder.config import ServerSettings
from cinder.model.document import Document
from cinder.model.request import Format
from cinder.services.excerpt import Window
from cinder.surfaces.action_answer import count_texts
from cinder.surfaces.mcp.outline_lines import OUTLINE_CHARS
from cinder.surfaces.mcp.untrusted import BOUNDARY_CHARS
from cinder.surfaces.scrape_arguments import ScrapeArguments

# What a result without an explicit maxChars keeps free for the header above its text.
HEADER_CHARS = 1_000
# The same for the line that tells of an action.
ACTION_CHARS = 100
# The same for a summary: seven sentences at their longest.
SUMMARY_CHARS = 2_800

_TEXTS = {Format.MARKDOWN, Format.HTML, Format.RAW_HTML, Format.LINKS, Format.IMAGES}
_TEXTS |= {Format.BRANDING, Format.CHANGE_TRACKING}
_LEFT_OUT_OF_PARTS = {Format.HTML, Format.RAW_HTML}


def body_chars(server: ServerSettings) -> int:
    """Return how many characters the text of a result may have besides its header and boundary."""
    whole = server.mcp_result_max_chars
    return max(whole - HEADER_CHARS - BOUNDARY_CHARS, whole // 2)


def shared_window(
    arguments: ScrapeArguments, formats: Sequence[Format], server: ServerSettings
) -> Window:
    """Return the part of each text that a result may hold, all of them sharing the room evenly."""
    whole = body_chars(server)
    lines = ACTION_CHARS * len(arguments.actions)
    beside = lines + SUMMARY_CHARS if Format.SUMMARY in formats else lines
    room = max(whole - beside, whole // 2)
    window = arguments.window(room, server.result_max_chars_ceiling)
    texts_of_actions = count_texts([action.type for action in arguments.actions])
    texts = _TEXTS.intersection(formats)
    if window.is_narrowed:
        texts -= _LEFT_OUT_OF_PARTS
    shares = len(texts) + texts_of_actions + (arguments.extract is not None) or 1
    return replace(window, max_chars=max(1, window.max_chars // shares))


def leave_room_for_outline(window: Window, document: Document) -> Window:
    """Return a window that leaves room for the outline, where a text is too long without it."""
    is_too_long = len(document.content.markdown or "") > window.max_chars
    room = window.max_chars - OUTLINE_CHARS
    return replace(window, max_chars=max(room, window.max_chars // 2)) if is_too_long else window
