"""The use case of extraction: pages are read, values found and proved, the rest handed off."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cinder.errors import ExtractionFailed, FieldProblem, InvalidRequest
from cinder.extract.fields.merging import only_grounded
from cinder.model.document import Json
from cinder.model.extract import Engine, ExtractAnswer, ExtractRequest, HandOff
from cinder.model.extracted_data import ExtractedData
from cinder.services.extraction.extractor import Extractor, Findings
from cinder.services.extraction.hand_off import HandOffMaker
from cinder.services.extraction.joining import join_stages, order_by_schema
from cinder.services.extraction.output_limit import cut_to_size
from cinder.services.extraction.schema_fit import drop_refused, find_problems
from cinder.services.extraction.source_pages import PageReader, SourcePage, describe_failures
from cinder.services.extraction.stages import ReadPage, Run, Wish, make_wish
from cinder.services.extraction.verifying import schema_of_claims, verify_claims
from cinder.services.off_loop import off_loop

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
        hand_offs: HandOffMaker,
        limits: ExtractLimits,
    ) -> None:
        self._reader = reader
        self._extractor = extractor
        self._hand_offs = hand_offs
        self._limits = limits

    async def extract(self, request: ExtractRequest) -> ExtractAnswer:
        """Return data with its proof; without a model, or with one that fails, what rules find.

        Raises:
            InvalidRequest: the schema is not valid JSON Schema, or there are too many urls.
            ExtractionFailed: not one of the pages could be read.
        """
        self._check(request)
        wish = _read_wish(request)
        until = asyncio.get_running_loop().time() + request.timeout_ms / 1000
        seconds = request.timeout_ms / 1000 * _FETCHING_PART
        sources = await self._reader.read(request, seconds)
        pages = [each.page for each in sources if each.page is not None]
        if not pages:
            raise ExtractionFailed(f"No page could be read. {describe_failures(sources)}")
        # Who comes with values of his own has a model, most likely a better one.
        run = Run() if request.claims else self._extractor.begin(until, request.caller)
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
        self, request: ExtractRequest, sources: Sequence[SourcePage], wish: Wish | None, run: Run
    ) -> Findings:
        """Check what the caller found; what his schema wants besides, rules may find."""
        if wish is None:
            schema = schema_of_claims(request.claims)
            wish = make_wish(request.prompt, schema, is_schema_given=False)
        pages = {each.source.url: each.page for each in sources if each.page is not None}
        found = await verify_claims(request.claims, pages, wish)
        run.note_engine(Engine.CALLER)
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
        run: Run,
    ) -> ExtractAnswer:
        found, wish = findings.extracted, findings.wish
        found = await off_loop(len(found.values) * _CHARS_PER_VALUE, self._bound, found, request)
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
        kept = only_grounded(found) if request.strict_grounding else found
        return cut_to_size(kept, self._limits.max_bytes)

    async def _hand_off(
        self,
        request: ExtractRequest,
        sources: Sequence[SourcePage],
        found: ExtractedData,
        wish: Wish | None,
    ) -> HandOff | None:
        if not found.missing and found.values:
            return None
        pages: list[tuple[int, ReadPage]] = [
            (place, each.page) for place, each in enumerate(sources) if each.page is not None
        ]
        schema: Mapping[str, Json] | None = wish.schema if wish else None
        return await self._hand_offs.make(pages, request.prompt, schema, found.missing)


def _read_wish(request: ExtractRequest) -> Wish | None:
    """Return what the schema wants; None where that is nothing, and the prompt has to say it."""
    if not request.schema:
        return None
    wish = make_wish(request.prompt, request.schema)
    return None if request.prompt and not wish.fields.names else wish
