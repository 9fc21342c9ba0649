"""The hand-off: what nothing could find, and the passages most likely to hold it."""

from collections.abc import Iterator, Mapping, Sequence

from cinder.errors import CinderError
from cinder.extract.fields.wanted import Wanted, read_schema
from cinder.extract.passages.query import query_for
from cinder.model.document import Json
from cinder.model.extract import HandOff, OfferedPassage
from cinder.model.passage import Passage, PassageQuery
from cinder.services.extraction.stages import ReadPage
from cinder.services.sandbox.sandbox import ExtractionSandbox

PASSAGES = 8
_PER_PAGE = 4
_MAX_PASSAGE_CHARS = 1_500
_READ_FIELDS = (
    "Nothing here could find these fields. Look for them in the passages, then call again with the "
    "same arguments and verify: [{path, value, quote, passage}], each quote exactly as the passage "
    "has it. What no passage says is not on the page: leave it out."
)
_READ_PROMPT = (
    "The prompt names no fields that can be looked for without a language model. Answer it from "
    "the passages, or call again with a schema; to have your answer checked, send it as verify: "
    "[{path, value, quote, passage}], each quote exactly as the passage has it."
)


class HandOffMaker:
    """Makes hand-offs."""

    def __init__(self, sandbox: ExtractionSandbox) -> None:
        self._sandbox = sandbox

    async def make(
        self,
        pages: Sequence[tuple[int, ReadPage]],
        prompt: str,
        schema: Mapping[str, Json] | None,
        missing: tuple[str, ...],
    ) -> HandOff:
        """Return what is missing with where it may stand; pages come with their places in urls."""
        ranked: list[tuple[Passage, int, str]] = []
        query = _query(prompt, schema, missing)
        for place, page in pages:
            found = await self._rank(page, query)
            ranked += [(passage, place, page.url) for passage in found]
        ranked.sort(key=lambda each: each[0].score, reverse=True)
        return HandOff(
            fields=missing,
            passages=tuple(_offer(*each) for each in ranked[:PASSAGES]),
            schema=schema,
            instruction=_READ_FIELDS if missing else _READ_PROMPT,
        )

    async def _rank(self, page: ReadPage, query: PassageQuery) -> tuple[Passage, ...]:
        try:
            return await self._sandbox.rank_passages(page.markdown or "", query, limit=_PER_PAGE)
        except CinderError:
            # The answer stands without them, and says what is missing all the same.
            return ()


def _query(
    prompt: str, schema: Mapping[str, Json] | None, missing: tuple[str, ...]
) -> PassageQuery:
    fields = _walk(read_schema(schema)[0]) if schema is not None else ()
    return query_for(prompt, [each for each in fields if each.path in missing])


def _walk(wanted: Wanted) -> Iterator[Wanted]:
    yield wanted
    for child in wanted.children:
        yield from _walk(child)


def _offer(passage: Passage, place: int, url: str) -> OfferedPassage:
    text = "\n\n".join(filter(None, (passage.context, passage.text)))
    return OfferedPassage(
        id=f"{place + 1}-{passage.id}",
        url=url,
        heading=passage.heading,
        text=text[:_MAX_PASSAGE_CHARS],
    )


def url_of_passage(passage_id: str, urls: Sequence[str]) -> str | None:
    """Return which of the urls a passage was offered from; None where it was from none."""
    place = passage_id.partition("-")[0]
    is_place = place.isascii() and place.isdigit() and 0 < int(place[:6]) <= len(urls)
    return urls[int(place[:6]) - 1] if is_place else None
