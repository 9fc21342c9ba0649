"""Offers the passages that most likely have the missing fields, for the caller to read."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from cinder.errors import CinderError
from cinder.extraction.field_specs import FieldSpec, read_schema
from cinder.extraction.passage_ranking import build_passage_query
from cinder.models.document import Json
from cinder.models.extraction import FallbackPassages, OfferedPassage, RankedPassage
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


async def find_fallback_passages(
    sandbox: ExtractionSandbox,
    pages: Sequence[tuple[int, LoadedPage]],
    prompt: str,
    schema: Mapping[str, Json] | None,
    missing: tuple[str, ...],
) -> FallbackPassages:
    """Return passages for missing fields; pages come with their index in the urls."""
    fields = _walk(read_schema(schema)[0]) if schema is not None else ()
    query = build_passage_query(prompt, [field for field in fields if field.path in missing])
    ranked: list[tuple[RankedPassage, int, str]] = []
    for index, page in pages:
        # Without passages, the answer still names the missing fields.
        with suppress(CinderError):
            markdown = page.markdown or ""
            found = await sandbox.rank_passages(markdown, query, limit=_PER_PAGE)
            ranked += [(passage, index, page.url) for passage in found]
    ranked.sort(key=lambda item: item[0].score, reverse=True)
    offered = [
        OfferedPassage(
            id=f"{index + 1}-{passage.id}",
            url=url,
            heading=passage.heading,
            text="\n\n".join(filter(None, (passage.context, passage.text)))[:_MAX_PASSAGE_CHARS],
        )
        for passage, index, url in ranked[:MAX_FALLBACK_PASSAGES]
    ]
    return FallbackPassages(
        fields=missing,
        passages=tuple(offered),
        schema=schema,
        instruction=_READ_FIELDS if missing else _READ_PROMPT,
    )


def _walk(spec: FieldSpec) -> Iterator[FieldSpec]:
    yield spec
    for child in spec.children:
        yield from _walk(child)


def url_of_passage(passage_id: str, urls: Sequence[str]) -> str | None:
    """Return the url that a passage was offered from; None if it is none of these."""
    number = passage_id.partition("-")[0]
    is_number = number.isascii() and number.isdigit() and 0 < int(number[:6]) <= len(urls)
    return urls[int(number[:6]) - 1] if is_number else None
