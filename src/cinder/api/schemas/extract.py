"""Extractions: their arguments, and their response with data, proof and fallback passages."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from cinder.api.arguments import Arguments, WebUrl, read_arguments
from cinder.api.errors import NEXT_STEP
from cinder.api.options import build_request, with_options
from cinder.background import run_in_thread
from cinder.errors import FieldProblem, InvalidRequest
from cinder.models.document import Json, VerdictKind
from cinder.models.extraction import (
    ClaimedValue,
    ExtractAnswer,
    ExtractRequest,
    FallbackPassages,
    PageSource,
)
from cinder.models.request import MAX_PROMPT_CHARS
from cinder.services.excerpt import fit_items, fit_members, json_chars
from cinder.services.extraction.fallback_passages import url_of_passage
from cinder.services.extraction.found_fields import (
    describe_conflict,
    describe_engines,
    describe_proof,
)

MAX_URLS = 100
MAX_CLAIMS = 1_000
MAX_QUOTE_CHARS = 5_000
MAX_PATH_PARTS = 20

_PATH_PART = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,6})\]")

Claims = Annotated[list[dict[str, Any]], Field(max_length=MAX_CLAIMS)]


class ClaimArguments(Arguments):
    """A value that the caller found, with the quote that proves it."""

    path: Annotated[str, Field(max_length=500)]
    """The field: `price`, `offers[0].price`."""
    value: Any  # JSON, as the caller's schema has it
    """The value; an object or array is checked value by value."""
    quote: Annotated[str, Field(min_length=1, max_length=MAX_QUOTE_CHARS)]
    """The words of the page, exactly."""
    url: WebUrl | None = None
    """The page; when absent, any of `urls`."""
    passage: Annotated[str, Field(max_length=200)] | None = None
    """The passage's id in `handOff`, which names the page as well."""


@with_options(ExtractRequest)
class ExtractArguments(Arguments):
    """What to extract from some pages."""

    urls: Annotated[list[WebUrl], Field(min_length=1, max_length=MAX_URLS)]
    """The pages; their data is joined, the first page's values count first."""
    prompt: Annotated[str, Field(max_length=MAX_PROMPT_CHARS)] | None = None
    """What to extract, in words."""
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    """What to extract, as JSON Schema."""
    verify: Claims | None = None
    """Values that you found, to be checked: `{path, value, quote}`, with `url` or `passage`."""

    def to_request(self, *, caller: str) -> ExtractRequest:
        """Return the request for the extraction.

        Raises:
            InvalidRequest: a claim in `verify` is invalid.
        """
        urls = tuple(dict.fromkeys(self.urls))
        claims = [
            _read_claim(raw, f"verify[{index}]", urls)
            for index, raw in enumerate(self.verify or ())
        ]
        return build_request(
            ExtractRequest,
            self,
            urls=urls,
            caller=caller,
            prompt=(self.prompt or "").strip(),
            schema=self.json_schema,
            claims=tuple(claims),
        )


def check_extraction_spec(raw: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Yield a problem if neither prompt, schema nor claims are given."""
    prompt = raw.get("prompt")
    has_prompt = isinstance(prompt, str) and prompt.strip()
    if not has_prompt and not any(raw.get(name) for name in ("schema", "verify")):
        yield FieldProblem("prompt", "Say what to extract: give prompt, schema or both")


EXTRACT_CHECKS = (check_extraction_spec,)


def _read_claim(raw: Mapping[str, Any], path: str, urls: tuple[str, ...]) -> ClaimedValue:
    try:
        claim = read_arguments(ClaimArguments, raw)
    except InvalidRequest as error:
        problems = tuple(FieldProblem(f"{path}.{p.field}", p.message) for p in error.problems)
        raise InvalidRequest(problems=problems) from None
    url = url_of_passage(claim.passage, urls) if claim.passage else claim.url
    if (claim.passage and url is None) or (url is not None and url not in urls):
        named = "passage" if claim.passage else "url"
        raise InvalidRequest.at(f"{path}.{named}", "It is of none of the urls")
    parts: list[str | int] = []
    end = 0
    for found in _PATH_PART.finditer(claim.path):
        if found.start() != end:
            break
        end = found.end()
        parts.append(found[1] if found[1] is not None else int(found[2]))
    if end != len(claim.path) or len(parts) > MAX_PATH_PARTS:
        raise InvalidRequest.at(f"{path}.path", "Not a path such as price or offers[0].price")
    return ClaimedValue(path=tuple(parts), value=claim.value, quote=claim.quote, url=url)


# The approximate length of a response without its lists.
_FRAME_CHARS = 500
_CHARS_PER_VALUE = 300
_FALLBACK_CHARS = 8_000
_MAX_TITLE_CHARS = 200
_MAX_WARNING_CHARS = 2_000


async def answer_extract(answer: ExtractAnswer, max_chars: int) -> dict[str, Json]:
    """Describe an answer; a long one in a thread."""
    chars = len(answer.extracted.values) * _CHARS_PER_VALUE
    return await run_in_thread(chars, describe_extract, answer, max_chars)


def describe_extract(answer: ExtractAnswer, max_chars: int) -> dict[str, Json]:
    """Return the data with its proof, without nulls.

    If it is too long, passages are left out first, then proof, then items of arrays. The fallback
    passages keep some room in any case: with them, the caller can find the missing values.
    """
    extracted = answer.extracted
    sources: list[Json] = [_describe_source(source) for source in answer.sources]
    shown: dict[str, Json] = {"missing": _name_all(extracted.missing), "sources": sources}
    shown |= describe_engines(answer.engines, answer.usage)
    if answer.schema_problems:
        shown["schemaErrors"] = list(answer.schema_problems)
    left = max_chars - json_chars(shown) - _FRAME_CHARS
    # At most a third is kept for the fallback passages, which come last.
    reserved = (
        min(_FALLBACK_CHARS, max(0, left) // 3) if answer.fallback_passages is not None else 0
    )
    room = _ResponseBudget(left - reserved)
    data = room.fit_data(extracted.data)
    proof = room.fit_list("values of the proof", list(describe_proof(extracted)))
    conflicts = room.fit_list("conflicts", [describe_conflict(c) for c in extracted.conflicts])
    answered: dict[str, Json] = {"data": data, "proof": proof, **shown}
    if conflicts:
        answered["conflicts"] = conflicts
    if answer.fallback_passages is not None:
        room.chars += reserved
        answered["handOff"] = _describe_fallback(answer.fallback_passages, room)
    if warnings := [*extracted.warnings, *room.cuts]:
        answered["warnings"] = fit_items(warnings, _MAX_WARNING_CHARS) or warnings[:1]
    return answered


class _ResponseBudget:
    """The remaining size of a response, and notices on what did not fit."""

    def __init__(self, chars: int) -> None:
        self.chars = chars
        self.cuts: list[str] = []

    @property
    def left(self) -> int:
        return max(0, self.chars)

    def take(self, value: Json) -> None:
        self.chars -= json_chars(value)

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
    # A schema that is not an object is one field without a name.
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
    return shown | {name: value for name, value in uris.items() if value}


def _describe_fallback(fallback: FallbackPassages, room: _ResponseBudget) -> dict[str, Json]:
    shown: dict[str, Json] = {
        "fields": _name_all(fallback.fields),
        "instruction": fallback.instruction,
    }
    if fallback.schema is not None and json_chars(fallback.schema) <= room.left:
        shown["schema"] = dict(fallback.schema)
    room.take(shown)
    passages: list[dict[str, Json]] = [
        {"id": one.id, "url": one.url, "heading": one.heading, "text": one.text}
        for one in fallback.passages
    ]
    # The passages are sorted by relevance: the least relevant ones are left out.
    shown["passages"] = list(fit_items(passages, room.left))
    return shown
