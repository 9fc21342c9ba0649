"""The use cases of extraction: an extract request, and extraction as a part of a scrape."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cinder.errors import ExtractionFailed, FieldProblem, InvalidRequest
from cinder.extraction.merging import keep_grounded, keep_values
from cinder.models.document import Document, Json
from cinder.models.extraction import (
    ExtractAnswer,
    ExtractedData,
    ExtractionEngine,
    ExtractRequest,
    FallbackPassages,
    FieldPath,
    FieldValue,
)
from cinder.services.extraction.claim_verification import schema_of_claims, verify_claims
from cinder.services.extraction.fallback_passages import FallbackPassageFinder
from cinder.services.extraction.found_fields import (
    describe_conflict,
    describe_engines,
    describe_proof,
)
from cinder.services.extraction.pipeline import (
    Extractor,
    Findings,
    drop_refused,
    find_problems,
    join_stages,
    order_by_schema,
)
from cinder.services.extraction.stages import (
    ExtractionRun,
    ExtractionSpec,
    LoadedPage,
    PageReader,
    SourcePage,
    describe_failures,
    make_extraction_spec,
    page_of,
)
from cinder.services.threads import run_in_thread


def cut_to_size(found: ExtractedData, max_bytes: int) -> ExtractedData:
    """Return as many of the first values as fit; of an item of an array, all or nothing."""
    room, kept, refused = max_bytes, list[FieldValue](), set[FieldPath]()
    for each in found.values:
        room -= _bytes(each)
        if room < 0:
            refused.add(_item_of(each.path))
        else:
            kept.append(each)
    if not refused:
        return found
    kept = [each for each in kept if _item_of(each.path) not in refused]
    told = (
        f"Only {len(kept)} of {len(found.values)} values are here: more data than {max_bytes} "
        "bytes is not returned. Ask for fewer fields, or fewer pages at once."
    )
    return replace(keep_values(found, kept), warnings=(*found.warnings, told))


def _bytes(value: FieldValue) -> int:
    # Quotation marks, colon and comma as well.
    names = sum(len(part) + 4 for part in value.path if isinstance(part, str))
    return names + len(json.dumps(value.value, ensure_ascii=False).encode("utf-8", "replace")) + 2


def _item_of(path: FieldPath) -> FieldPath:
    """Return the item of an array that a value is part of, or else the value's own place."""
    for place, part in enumerate(path):
        if isinstance(part, int):
            return path[: place + 1]
    return path


# Of a request's time, what fetching may take, so that some is left for reading.
_FETCHING_PART = 0.7
# Work on a value takes about as long as on a text of so many characters.
_CHARS_PER_VALUE = 100
_NO_MODEL = (
    "No language model is configured, so that values were looked for by rules alone: see "
    "docs/language-models.md."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractLimits:
    """How much one request may be about."""

    max_urls: int = 10
    max_bytes: int = 1_000_000


class ExtractService:
    """Answers what callers want to know of pages."""

    def __init__(
        self,
        *,
        reader: PageReader,
        extractor: Extractor,
        fallback_finder: FallbackPassageFinder,
        limits: ExtractLimits,
    ) -> None:
        self._reader = reader
        self._extractor = extractor
        self._fallback_finder = fallback_finder
        self._limits = limits

    async def extract(self, request: ExtractRequest) -> ExtractAnswer:
        """Return data with its proof; without a model, or with one that fails, what rules find.

        Raises:
            InvalidRequest: the schema is not valid JSON Schema, or there are too many urls.
            ExtractionFailed: not one of the pages could be read.
        """
        self._check(request)
        wish = _read_spec(request)
        until = asyncio.get_running_loop().time() + request.timeout_ms / 1000
        seconds = request.timeout_ms / 1000 * _FETCHING_PART
        sources = await self._reader.read(request, seconds)
        pages = [each.page for each in sources if each.page is not None]
        if not pages:
            raise ExtractionFailed(f"No page could be read. {describe_failures(sources)}")
        # Who comes with values of his own has a model, most likely a better one.
        run = ExtractionRun() if request.claims else self._extractor.begin(until, request.caller)
        run.caller = request.caller
        if request.claims:
            findings = await self._verify(request, sources, wish, run)
        else:
            findings = await self._extractor.answer(pages, request.prompt, wish, run)
        return await self._answer(request, sources, findings, run)

    def _check(self, request: ExtractRequest) -> None:
        if len(request.urls) > self._limits.max_urls:
            message = (
                f"At most {self._limits.max_urls} urls are taken at once (setting "
                f"extract.max-urls), received {len(request.urls)}"
            )
            raise InvalidRequest(problems=(FieldProblem("urls", message),))

    async def _verify(
        self,
        request: ExtractRequest,
        sources: Sequence[SourcePage],
        wish: ExtractionSpec | None,
        run: ExtractionRun,
    ) -> Findings:
        """Check what the caller found; what his schema wants besides, rules may find."""
        if wish is None:
            schema = schema_of_claims(request.claims)
            wish = make_extraction_spec(request.prompt, schema, is_schema_given=False)
        pages = {each.source.url: each.page for each in sources if each.page is not None}
        found = await verify_claims(request.claims, pages, wish)
        run.note_engine(ExtractionEngine.CALLER)
        if wish.is_schema_given:
            known = await self._extractor.extract([*pages.values()], wish, run)
            found = join_stages(found, known)
        if len(pages) == 1:
            # Of several, the places in arrays are no longer those of one page.
            await self._extractor.learn([*pages.values()], wish, [found], run)
        return Findings(order_by_schema(drop_refused(found, wish.check), wish.fields), wish)

    async def _answer(
        self,
        request: ExtractRequest,
        sources: Sequence[SourcePage],
        findings: Findings,
        run: ExtractionRun,
    ) -> ExtractAnswer:
        found, wish = findings.extracted, findings.wish
        found = await run_in_thread(
            len(found.values) * _CHARS_PER_VALUE, self._bound, found, request
        )
        hand_off = await self._hand_off(request, sources, found, wish)
        warnings = [*run.warnings, *found.warnings]
        if hand_off is not None and run.budget is None and not request.claims:
            warnings.append(_NO_MODEL)
        return ExtractAnswer(
            extracted=replace(found, warnings=tuple(dict.fromkeys(warnings))),
            sources=tuple(each.source for each in sources),
            engines=tuple(run.engines),
            schema_problems=find_problems(found, wish.check) if wish else (),
            usage=self._extractor.usage_of(run),
            hand_off=hand_off,
        )

    def _bound(self, found: ExtractedData, request: ExtractRequest) -> ExtractedData:
        """Return what the caller wants to have, and as much of it as is returned at all."""
        kept = keep_grounded(found) if request.strict_grounding else found
        return cut_to_size(kept, self._limits.max_bytes)

    async def _hand_off(
        self,
        request: ExtractRequest,
        sources: Sequence[SourcePage],
        found: ExtractedData,
        wish: ExtractionSpec | None,
    ) -> FallbackPassages | None:
        if not found.missing and found.values:
            return None
        pages: list[tuple[int, LoadedPage]] = [
            (place, each.page) for place, each in enumerate(sources) if each.page is not None
        ]
        schema: Mapping[str, Json] | None = wish.schema if wish else None
        return await self._fallback_finder.make(pages, request.prompt, schema, found.missing)


def _read_spec(request: ExtractRequest) -> ExtractionSpec | None:
    """Return what the schema wants; None where that is nothing, and the prompt has to say it."""
    if not request.schema:
        return None
    wish = make_extraction_spec(request.prompt, request.schema)
    return None if request.prompt and not wish.fields.names else wish


_NOTHING = (
    "Nothing that `extract` asks for was found on the page: take it from the content, or name the "
    "fields in a schema with /v1/extract."
)
_NO_TEXT = "`extract` does nothing here: this is a file without text."


class DocumentExtraction:
    """Adds to scraped documents what is extracted from them."""

    def __init__(self, extractor: Extractor, max_bytes: int) -> None:
        self._extractor = extractor
        self._max_bytes = max_bytes

    async def extract(self, document: Document, prompt: str, until: float, caller: str) -> Document:
        """Return the document with what a prompt wants of it, or with a warning that says why not.

        Args:
            document: the page.
            prompt: what is wanted, in words.
            until: when it has to be done, by the loop's clock.
            caller: who wants it.
        """
        if document.media is not None:
            return _with_warnings(document, (_NO_TEXT,))
        run = self._extractor.begin(until, caller)
        findings = await self._extractor.answer([page_of(document)], prompt, None, run)
        found = cut_to_size(findings.extracted, self._max_bytes)
        warned = _with_warnings(document, (*run.warnings, *found.warnings))
        if not found.values:
            return _with_warnings(warned, (_NOTHING,))
        return replace(warned, extracted=self._write(found, run))

    def _write(self, found: ExtractedData, run: ExtractionRun) -> str:
        told: dict[str, Json] = {
            "data": found.data,
            "proof": list(describe_proof(found)),
            "missing": list(found.missing),
            **describe_engines(run.engines, self._extractor.usage_of(run)),
        }
        if found.conflicts:
            told["conflicts"] = [describe_conflict(each) for each in found.conflicts]
        return json.dumps(told, ensure_ascii=False)


def _with_warnings(document: Document, warnings: tuple[str, ...]) -> Document:
    content = document.content
    told = replace(content, warnings=(*content.warnings, *dict.fromkeys(warnings)))
    return replace(document, content=told)
