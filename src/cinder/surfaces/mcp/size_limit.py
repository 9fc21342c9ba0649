"""The size of a result: how much text it may hold."""

from collections.abc import Sequence

from cinder.config import ServerSettings
from cinder.model.request import Format
from cinder.services.excerpt import Window
from cinder.surfaces.action_answer import count_texts
from cinder.surfaces.scrape_arguments import ScrapeArguments

# What a result without an explicit maxChars keeps free for the header above its text.
HEADER_CHARS = 1_000
# The same for the line that tells of an action.
ACTION_CHARS = 100

_TEXTS = {Format.MARKDOWN, Format.HTML, Format.RAW_HTML, Format.LINKS, Format.IMAGES}
_TEXTS |= {Format.BRANDING, Format.CHANGE_TRACKING}


def body_chars(server: ServerSettings) -> int:
    """Return how many characters the text of a result may have besides its header."""
    whole = server.mcp_result_max_chars
    return max(whole - HEADER_CHARS, whole // 2)


def shared_window(
    arguments: ScrapeArguments, formats: Sequence[Format], server: ServerSettings
) -> Window:
    """Return the part of each text that a result may hold, all of them sharing the room evenly."""
    whole = body_chars(server)
    room = max(whole - ACTION_CHARS * len(arguments.actions), whole // 2)
    window = arguments.window(room, server.result_max_chars_ceiling)
    texts_of_actions = count_texts([action.type for action in arguments.actions])
    shares = len(_TEXTS.intersection(formats)) + texts_of_actions or 1
    return Window(window.start, max(1, window.max_chars // shares))
