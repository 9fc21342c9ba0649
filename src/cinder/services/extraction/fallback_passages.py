"""Offers the passages that most likely hold the fields that nothing could find."""

from collections.abc import Iterator, Mapping, Sequence

from cinder.errors import CinderError
from cinder.extraction.field_specs import FieldSpec, read_schema
from cinder.extraction.passage_ranking import build_passage_query
from cinder.models.document import Json
from cinder.models.extraction import FallbackPassages, OfferedPassage, PassageQuery, RankedPassage
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.stages import LoadedPage

MAX_FALLBACK_PASSAGES = 8
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


class FallbackPassageFinder:
    """Makes hand-offs."""

    def __init__(self, sandbox: ExtractionSandbox) -> None:
        self._sandbox = sandbox

    async def make(
        self,
        pages: Sequence[tuple[int, LoadedPage]],
        prompt: str,
        schema: Mapping[str, Json] | None,
        missing: tuple[str, ...],
    ) -> FallbackPassages:
        """Return what is missing with where it may stand; pages come with their places in urls."""
        ranked: list[tuple[RankedPassage, int, str]] = []
        query = _query(prompt, schema, missing)
        for place, page in pages:
            found = await self._rank(page, query)
            ranked += [(passage, place, page.url) for passage in found]
        ranked.sort(key=lambda each: each[0].score, reverse=True)
        return FallbackPassages(
            fields=missing,
            passages=tuple(_offer(*each) for each in ranked[:MAX_FALLBACK_PASSAGES]),
            schema=schema,
            instruction=_READ_FIELDS if missing else _READ_PROMPT,
        )

    async def _rank(self, page: LoadedPage, query: PassageQuery) -> tuple[RankedPassage, ...]:
        try:
            return await self._sandbox.rank_passages(page.markdown or "", query, limit=_PER_PAGE)
        except CinderError:
            # The answer stands without them, and says what is missing all the same.
            return ()


def _query(
    prompt: str, schema: Mapping[str, Json] | None, missing: tuple[str, ...]
) -> PassageQuery:
    fields = _walk(read_schema(schema)[0]) if schema is not None else ()
    return build_passage_query(prompt, [each for each in fields if each.path in missing])


def _walk(wanted: FieldSpec) -> Iterator[FieldSpec]:
    yield wanted
    for child in wanted.children:
        yield from _walk(child)


def _offer(passage: RankedPassage, place: int, url: str) -> OfferedPassage:
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
