"""The answer to an extraction, as REST, MCP and the command line all give it."""

from collections.abc import Mapping, Sequence

from cinder.model.document import Json, VerdictKind
from cinder.model.extract import ExtractAnswer, HandOff, PageSource
from cinder.services.extraction.data_json import describe_conflict, describe_proof, describe_way
from cinder.services.fitting import fit_items, fit_members, json_chars
from cinder.services.off_loop import off_loop
from cinder.surfaces.verdict_advice import NEXT_STEP

# What an answer says besides its lists takes about so much.
_FRAME_CHARS = 500
_CHARS_PER_VALUE = 300
_HAND_OFF_CHARS = 8_000
_MAX_TITLE_CHARS = 200
_MAX_WARNING_CHARS = 2_000


async def answer_extract(answer: ExtractAnswer, max_chars: int) -> dict[str, Json]:
    """Describe an answer without holding others up."""
    chars = len(answer.extracted.values) * _CHARS_PER_VALUE
    return await off_loop(chars, describe_extract, answer, max_chars)


def describe_extract(answer: ExtractAnswer, max_chars: int) -> dict[str, Json]:
    """Return the data with its proof, without nulls.

    Where all of it is too long, passages are left out first, then proof, then items of arrays.
    What is handed off keeps some room all the same: it is how the caller goes on.
    """
    extracted = answer.extracted
    sources: list[Json] = [_describe_source(each) for each in answer.sources]
    shown: dict[str, Json] = {"missing": _name_all(extracted.missing), "sources": sources}
    shown |= describe_way(answer.engines, answer.usage)
    if answer.schema_problems:
        shown["schemaErrors"] = list(answer.schema_problems)
    room = _Room(max_chars - json_chars(shown) - _FRAME_CHARS)
    if answer.hand_off is not None:
        room.reserve(_HAND_OFF_CHARS)
    data = room.fit_data(extracted.data)
    proof = room.fit_list("values of the proof", list(describe_proof(extracted)))
    conflicts = room.fit_list("conflicts", [describe_conflict(c) for c in extracted.conflicts])
    answered: dict[str, Json] = {"data": data, "proof": proof, **shown}
    if conflicts:
        answered["conflicts"] = conflicts
    if answer.hand_off is not None:
        room.give_back()
        answered["handOff"] = _describe_hand_off(answer.hand_off, room)
    if warnings := [*extracted.warnings, *room.cuts]:
        answered["warnings"] = fit_items(warnings, _MAX_WARNING_CHARS) or warnings[:1]
    return answered


class _Room:
    """How much is left of an answer's size, and what did not fit."""

    def __init__(self, chars: int) -> None:
        self._left = chars
        self._reserved = 0
        self.cuts: list[str] = []

    @property
    def left(self) -> int:
        return max(0, self._left)

    def reserve(self, chars: int) -> None:
        """Keep some of it, but never more than a third, for what comes last."""
        self._reserved = min(chars, self.left // 3)
        self._left -= self._reserved

    def give_back(self) -> None:
        self._left += self._reserved
        self._reserved = 0

    def take(self, value: Json) -> None:
        self._left -= json_chars(value)

    def fit_list(self, what: str, items: list[dict[str, Json]]) -> list[Json]:
        fitting: list[Json] = list(fit_items(items, self.left))
        self.take(fitting)
        if len(fitting) < len(items):
            self.cuts.append(f"Only {len(fitting)} of {len(items)} {what} fit into this answer.")
        return fitting

    def fit_data(self, data: Json) -> Json:
        fitting = data
        if json_chars(data) > self.left:
            if isinstance(data, list):
                fitting = fit_items(data, self.left)
            elif isinstance(data, Mapping):
                fitting = fit_members(data, self.left)
            self.cuts.append(
                "The data is too long for this answer, and cut: ask for fewer fields, or fewer "
                "pages at once, or over REST, which returns more."
            )
        self.take(fitting)
        return fitting


def _name_all(fields: Sequence[str]) -> list[Json]:
    # A schema that is no object is one field, which has no name.
    return [field or "(all)" for field in fields]


def _describe_source(source: PageSource) -> dict[str, Json]:
    shown: dict[str, Json] = {"url": source.url}
    if source.final_url and source.final_url != source.url:
        shown["finalUrl"] = source.final_url
    if source.title:
        shown["title"] = source.title[:_MAX_TITLE_CHARS]
    if source.verdict is not None:
        shown["verdict"] = source.verdict.kind
        if source.verdict.kind is not VerdictKind.OK:
            if source.verdict.evidence:
                shown["evidence"] = source.verdict.evidence
            shown["nextStep"] = NEXT_STEP[source.verdict.kind]
    uris = {"uri": source.uri, "pageUri": source.page_uri, "error": source.error}
    return shown | {name: told for name, told in uris.items() if told}


def _describe_hand_off(hand_off: HandOff, room: _Room) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "fields": _name_all(hand_off.fields),
        "instruction": hand_off.instruction,
    }
    if hand_off.schema is not None and json_chars(hand_off.schema) <= room.left:
        shown["schema"] = dict(hand_off.schema)
    room.take(shown)
    passages: list[dict[str, Json]] = [
        {"id": each.id, "url": each.url, "heading": each.heading, "text": each.text}
        for each in hand_off.passages
    ]
    # Those that do not fit are the less likely ones: nothing is lost that was asked for.
    shown["passages"] = list(fit_items(passages, room.left))
    return shown
