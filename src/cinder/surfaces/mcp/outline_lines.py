"""The outline as a model reads it: a line for each heading, where the text alone is not enough."""

from cinder.model.document import Json
from cinder.services.excerpt import Window
from cinder.services.reading import Heading, Reading
from cinder.surfaces.reading_answer import fit_outline

# The most that an outline takes of a result.
OUTLINE_CHARS = 1_500

_TITLE_CHARS = 80


def tell_outline_lines(reading: Reading, window: Window) -> dict[str, Json]:
    """Return the outline where the reader needs it to go on.

    That is at the beginning of a text that was cut, or where a query found nothing. Of a section
    that was cut, the headings within it.
    """
    found_nothing = reading.passages == ()
    begins_a_cut_text = window.start == 0 and reading.excerpt.was_truncated
    if not found_nothing and not begins_a_cut_text:
        return {}
    headings = _within(reading)
    room = min(OUTLINE_CHARS, max(200, window.max_chars // 4))
    shown = fit_outline(headings, room, lambda heading: len(_line(heading)) + 1)
    lines: list[Json] = [_line(heading) for heading in shown]
    if len(shown) < len(headings):
        lines.append(f"and {len(headings) - len(shown)} more")
    # Of a whole text, one line would only say how long it is.
    is_useful = len(headings) > (1 if reading.section is None else 0)
    return {"outline": lines} if is_useful else {}


def outline_note(metadata: Json) -> str | None:
    """Return the outline as a note above a text; None where an answer has none."""
    lines = metadata.get("outline") if isinstance(metadata, dict) else None
    if not isinstance(lines, list):
        return None
    return "\n".join(["Outline, as section (tokens):", *map(str, lines)])


def _within(reading: Reading) -> list[Heading]:
    section = reading.section
    if section is None:
        return list(reading.outline)
    return [h for h in reading.outline if section.start < h.start < section.end]


def _line(heading: Heading) -> str:
    line = f"{'  ' * max(0, heading.level - 1)}{heading.id} ({heading.tokens})"
    is_said = heading.title.casefold().replace(" ", "-") == heading.id
    return line if is_said or not heading.title else f"{line} {heading.title[:_TITLE_CHARS]}"
