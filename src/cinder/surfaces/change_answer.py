"""What has become of a page since it was last saved, as the answers to a scrape tell it."""

from cinder.model.change import BlockChange, PageChange, TextDiff
from cinder.model.document import Json
from cinder.model.saved import format_timestamp
from cinder.services.excerpt import Window, take_excerpt
from cinder.services.fitting import fit_items

_KEPT = "previousUri and savedUris hold both versions whole."
_NOT_KEPT = "previousUri holds the version compared with; a larger maxChars shows more."


def describe_change(change: PageChange, max_chars: int, *, is_saved: bool) -> dict[str, Json]:
    """Return a change as JSON; its difference has at most so many characters, half of it each way.

    Once the page is saved, what is cut cannot be asked for again, for then this version is the one
    to compare with: the answer says where both are kept.
    """
    told: dict[str, Json] = {"changeStatus": change.status}
    if change.previous_at is not None:
        told["previousScrapeAt"] = format_timestamp(change.previous_at)
    if change.previous_uri is not None:
        told["previousUri"] = change.previous_uri
    if change.diff is not None:
        told["diff"], is_cut = _describe_diff(change.diff, max_chars // 2)
        if is_cut:
            way = _KEPT if is_saved else _NOT_KEPT
            told["message"] = f"The difference is longer than what is shown of it: {way}"
    return told


def tell_change(told: dict[str, Json]) -> str:
    """Return a described change as lines to read."""
    lines = [f"changeTracking: {told['changeStatus']}"]
    if "previousScrapeAt" in told:
        lines[0] += f" (compared with {told['previousScrapeAt']}, {told['previousUri']})"
    if "message" in told:
        lines.append(str(told["message"]))
    diff = told.get("diff")
    if isinstance(diff, dict):
        lines.append(str(diff["text"]))
    return "\n".join(lines)


def _describe_diff(diff: TextDiff, max_chars: int) -> tuple[dict[str, Json], bool]:
    text = take_excerpt(diff.unified, Window(0, max_chars))
    whole = [_describe_block(change) for change in diff.blocks]
    fitting = fit_items(whole, max_chars)
    is_cut = diff.is_cut or text.was_truncated or len(fitting) < len(whole)
    changes: list[Json] = list(fitting)
    return {"text": text.text, "json": {"changes": changes}}, is_cut


def _describe_block(change: BlockChange) -> dict[str, Json]:
    told: dict[str, Json] = {"type": change.kind, "section": change.section}
    if change.before is not None:
        told["before"] = change.before
    if change.after is not None:
        told["after"] = change.after
    return told
