"""The arguments of an extraction, as POST /v1/extract, the MCP tool and the command take them."""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any

from pydantic import Field

from cinder.errors import FieldProblem, InvalidRequest
from cinder.model.extract import Claim, ExtractRequest
from cinder.model.extracted_data import Path
from cinder.model.request import DAY_MS, CachePolicy, Mode
from cinder.services.extraction.hand_off import url_of_passage
from cinder.surfaces.arguments import Arguments, Flag, Whole, read_arguments
from cinder.surfaces.scrape_arguments import MAX_AGE_MS, MAX_PROMPT_CHARS, MAX_TIMEOUT_MS, WebUrl

MAX_URLS = 100
MAX_CLAIMS = 1_000
MAX_QUOTE_CHARS = 5_000
MAX_PATH_PARTS = 20

_PATH_PART = re.compile(r"\.?([^.\[\]]+)|\[(\d{1,6})\]")

Claims = Annotated[list[dict[str, Any]], Field(max_length=MAX_CLAIMS)]


class ClaimArguments(Arguments):
    """A value that the caller found, with the words of the page that show it."""

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


class ExtractArguments(Arguments):
    """What is wanted of some pages."""

    urls: Annotated[list[WebUrl], Field(min_length=1, max_length=MAX_URLS)]
    """The pages; their data is joined, the first page's values count first."""
    prompt: Annotated[str, Field(max_length=MAX_PROMPT_CHARS)] | None = None
    """What to extract, in words."""
    json_schema: dict[str, Any] | None = Field(default=None, alias="schema")
    """What to extract, as JSON Schema."""
    mode: Mode = Mode.SMART
    """Which engine may fetch: `static` without a browser, `dynamic` with one, `smart` either."""
    strict_grounding: Flag = False
    """Leave out what no page proves."""
    verify: Claims | None = None
    """Values that you found, to be checked: `{path, value, quote}`, with `url` or `passage`."""
    max_age: Annotated[Whole, Field(ge=0, le=MAX_AGE_MS)] = 2 * DAY_MS
    """The oldest kept page to take, in milliseconds."""
    force_rescrape: Flag = False
    """Fetch the pages anew, whatever is kept."""
    timeout: Annotated[Whole, Field(ge=1, le=MAX_TIMEOUT_MS)] = MAX_TIMEOUT_MS
    """Milliseconds that the whole request may take; what is not found by then is missing."""

    def to_request(self, *, caller: str) -> ExtractRequest:
        """Return the request that these arguments make.

        Raises:
            InvalidRequest: what is to be verified is not said rightly; names where.
        """
        urls = tuple(dict.fromkeys(self.urls))
        claims = [
            _read_claim(given, f"verify[{place}]", urls)
            for place, given in enumerate(self.verify or ())
        ]
        return ExtractRequest(
            urls=urls,
            caller=caller,
            prompt=(self.prompt or "").strip(),
            schema=self.json_schema,
            mode=self.mode,
            strict_grounding=self.strict_grounding,
            cache=CachePolicy(max_age_ms=self.max_age, force_rescrape=self.force_rescrape),
            timeout_ms=self.timeout,
            claims=tuple(claims),
        )


def check_wish(given: Mapping[str, Any]) -> Iterable[FieldProblem]:
    """Name what is lacking where nothing says what is wanted."""
    prompt = given.get("prompt")
    is_said = isinstance(prompt, str) and prompt.strip()
    if not is_said and not any(given.get(name) for name in ("schema", "verify")):
        yield FieldProblem("prompt", "Say what to extract: give prompt, schema or both")


EXTRACT_CHECKS = (check_wish,)


def _read_claim(given: Mapping[str, Any], place: str, urls: tuple[str, ...]) -> Claim:
    try:
        said = read_arguments(ClaimArguments, given)
    except InvalidRequest as error:
        problems = tuple(
            FieldProblem(f"{place}.{each.field}", each.message) for each in error.problems
        )
        raise InvalidRequest(problems=problems) from None
    url = url_of_passage(said.passage, urls) if said.passage else said.url
    if (said.passage and url is None) or (url is not None and url not in urls):
        named = "passage" if said.passage else "url"
        problem = FieldProblem(f"{place}.{named}", "It is of none of the urls")
        raise InvalidRequest(problems=(problem,))
    return Claim(path=_read_path(said.path, place), value=said.value, quote=said.quote, url=url)


def _read_path(text: str, place: str) -> Path:
    parts: list[str | int] = []
    end = 0
    for found in _PATH_PART.finditer(text):
        if found.start() != end:
            break
        end = found.end()
        parts.append(found[1] if found[1] is not None else int(found[2]))
    if end != len(text) or len(parts) > MAX_PATH_PARTS:
        problem = FieldProblem(f"{place}.path", "Not a path such as price or offers[0].price")
        raise InvalidRequest(problems=(problem,))
    return tuple(parts)
