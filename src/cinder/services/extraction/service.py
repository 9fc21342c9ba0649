"""The extraction service: pages in, data with proof out; values of callers are verified."""

import asyncio
import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cinder.background import run_in_thread
from cinder.errors import ExtractionFailed, FieldProblem, InvalidRequest
from cinder.extraction.field_specs import FieldKind, FieldSpec, read_schema, schema_path
from cinder.extraction.grounding import ClaimProver, normalise_claim
from cinder.extraction.merging import keep_grounded, keep_values, merge_data
from cinder.fetch.escalation import check_proxy_pool
from cinder.models.document import Document, Json
from cinder.models.extraction import (
    ClaimedValue,
    Evidence,
    ExtractAnswer,
    ExtractedData,
    ExtractionEngine,
    ExtractRequest,
    FieldPath,
    FieldValue,
    Grounding,
    Method,
)
from cinder.models.request import ScrapeRequest
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.extraction.fallback_passages import find_fallback_passages
from cinder.services.extraction.found_fields import (
    describe_conflict,
    describe_engines,
    describe_proof,
)
from cinder.services.extraction.pipeline import (
    Extractor,
    Findings,
    drop_refused,
    join_stages,
    order_by_schema,
)
from cinder.services.extraction.stages import (
    ExtractionRun,
    ExtractionSpec,
    LoadedPage,
    PageScraper,
    SourcePage,
    make_extraction_spec,
    page_of,
    read_schema_of_scrape,
)

_MAX_VALUES = 5_000
_MAX_NAMED = 10
_UNKNOWN = "{path} is not a field of the schema, so that it was left out."
_KINDS: Mapping[type, str] = {bool: "boolean", int: "integer", float: "number"}
_TYPES: Mapping[FieldKind, tuple[type, ...]] = {
    FieldKind.BOOLEAN: (bool,),
    FieldKind.INTEGER: (int,),
    FieldKind.NUMBER: (int, float),
}


async def verify_claims(
    claims: Sequence[ClaimedValue], pages: Mapping[str, LoadedPage], spec: ExtractionSpec
) -> ExtractedData:
    """Return the claimed values with their evidence on the pages, which are given by url."""
    chars = sum(len(page.markdown or "") for page in pages.values())
    return await run_in_thread(chars, _verify, claims, pages, spec)


def schema_of_claims(claims: Sequence[ClaimedValue]) -> dict[str, Json]:
    """Return a schema that claimed values match, for callers without one."""
    root: dict[str, Json] = {}
    for claim in _values_of(claims):
        node = root
        for part in claim.path:
            if isinstance(part, int):
                node["type"] = "array"
                inner = node.setdefault("items", {})
            else:
                node["type"] = "object"
                properties = node.setdefault("properties", {})
                inner = properties.setdefault(part, {}) if isinstance(properties, dict) else {}
            node = inner if isinstance(inner, dict) else {}
        if not node:
            node["type"] = _KINDS.get(type(claim.value), "string")
    return root or {"type": "object"}


def _verify(
    claims: Sequence[ClaimedValue], pages: Mapping[str, LoadedPage], spec: ExtractionSpec
) -> ExtractedData:
    provers = {url: ClaimProver(page.markdown or "", page.url) for url, page in pages.items()}
    fields = dict(_scalars(read_schema(spec.schema)[0]))
    values: dict[tuple[str | int, ...], FieldValue] = {}
    unknown: dict[str, None] = {}
    for claim in _values_of(claims):
        field = fields.get(schema_path(claim.path))
        if field is None:
            unknown[schema_path(claim.path)] = None
            continue
        searched = [provers[url] for url in provers if claim.url in (None, url)]
        values[claim.path] = _check(claim, field, searched)
    warnings = tuple(_UNKNOWN.format(path=path) for path in list(unknown)[:_MAX_NAMED])
    kept = tuple(values.values())
    claimed = ExtractedData(data=spec.fields.nothing, values=kept, warnings=warnings)
    # Renumbers arrays of which not every item was claimed.
    return merge_data([claimed])


def _check(claim: ClaimedValue, field: FieldSpec, provers: Sequence[ClaimProver]) -> FieldValue:
    typed = _typed(field, claim.value)
    normalised = normalise_claim(field, typed)
    value = typed if normalised is None else normalised
    evidence = [prover.prove(field, value, claim.quote) for prover in provers]
    evidence.sort(key=lambda each: each.grounding is Grounding.UNVERIFIED)
    unproved = Evidence(method=Method.CALLER, quote=claim.quote, grounding=Grounding.UNVERIFIED)
    first = evidence[0] if evidence else unproved
    rule = first.normalization.replace("the model", "the caller")
    first = replace(first, method=Method.CALLER, normalization=rule)
    return FieldValue(path=claim.path, value=value, evidence=(first,))


def _typed(field: FieldSpec, value: Json) -> Json:
    """Return a number or boolean that was claimed as text in the type of its field."""
    if not isinstance(value, str) or field.kind not in _TYPES:
        return value
    try:
        parsed: Json = json.loads(value)
    except ValueError:
        return value
    is_finite = not isinstance(parsed, float) or math.isfinite(parsed)
    return parsed if type(parsed) in _TYPES[field.kind] and is_finite else value


def _values_of(claims: Sequence[ClaimedValue]) -> Iterator[ClaimedValue]:
    """Yield claims of single values; claims of objects and arrays are split."""
    waiting = list(reversed(claims))
    for _ in range(_MAX_VALUES):
        if not waiting:
            return
        claim = waiting.pop()
        if isinstance(claim.value, Mapping):
            inner: list[tuple[str | int, Json]] = list(claim.value.items())
        elif isinstance(claim.value, list):
            inner = list(enumerate(claim.value))
        else:
            yield claim
            continue
        waiting += [
            replace(claim, path=(*claim.path, key), value=value)
            for key, value in reversed(inner)
            if value is not None
        ]


def _scalars(spec: FieldSpec) -> Iterator[tuple[str, FieldSpec]]:
    if spec.is_scalar:
        yield spec.path, spec
    for child in spec.children:
        yield from _scalars(child)


def cut_to_size(found: ExtractedData, max_bytes: int) -> ExtractedData:
    """Return the first values that fit; the item of an array is kept whole or not at all."""
    room, kept, refused = max_bytes, list[FieldValue](), set[FieldPath]()
    for value in found.values:
        # Quotation marks, colon and comma as well.
        names = sum(len(part) + 4 for part in value.path if isinstance(part, str))
        data = json.dumps(value.value, ensure_ascii=False)
        room -= names + len(data.encode("utf-8", "replace")) + 2
        if room < 0:
            refused.add(_item_of(value.path))
        else:
            kept.append(value)
    if not refused:
        return found
    kept = [value for value in kept if _item_of(value.path) not in refused]
    warning = (
        f"Only {len(kept)} of {len(found.values)} values are here: more data than {max_bytes} "
        "bytes is not returned. Ask for fewer fields, or fewer pages at once."
    )
    return replace(keep_values(found, kept), warnings=(*found.warnings, warning))


def _item_of(path: FieldPath) -> FieldPath:
    """Return the path of the array item that a value belongs to, or else its own path."""
    for position, part in enumerate(path):
        if isinstance(part, int):
            return path[: position + 1]
    return path


# The part of a request's time for fetching, so that some is left for extraction.
_FETCHING_PART = 0.7
# A value takes about as long to process as so many characters.
_CHARS_PER_VALUE = 100
_NO_MODEL = (
    "No language model is configured, so that values were looked for by rules alone: see "
    "docs/language-models.md."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractLimits:
    """The limits of one request."""

    max_urls: int = 10
    max_bytes: int = 1_000_000


class ExtractService:
    """Extracts data from pages for callers."""

    def __init__(
        self,
        *,
        reader: PageScraper,
        extractor: Extractor,
        sandbox: ExtractionSandbox,
        limits: ExtractLimits,
        proxy_pools: Collection[str] = (),
    ) -> None:
        self._reader = reader
        self._extractor = extractor
        self._sandbox = sandbox
        self._limits = limits
        self._proxy_pools = proxy_pools

    async def extract(self, request: ExtractRequest) -> ExtractAnswer:
        """Return data with its evidence; without a working model, only what rules find.

        Raises:
            InvalidRequest: the schema is not valid JSON Schema, there are too many urls, or the
                pool of proxies is unknown.
            ExtractionFailed: no page could be read.
        """
        check_proxy_pool(request.proxy_pool, self._proxy_pools)
        if len(request.urls) > self._limits.max_urls:
            message = (
                f"At most {self._limits.max_urls} urls are taken at once (setting "
                f"extract.max-urls), received {len(request.urls)}"
            )
            raise InvalidRequest(problems=(FieldProblem("urls", message),))
        spec = make_extraction_spec(request.prompt, request.schema) if request.schema else None
        if spec is not None and request.prompt and not spec.fields.names:
            # A schema without fields leaves them to the prompt.
            spec = None
        until = asyncio.get_running_loop().time() + request.timeout_ms / 1000
        seconds = request.timeout_ms / 1000 * _FETCHING_PART
        sources = await self._reader.read(request, seconds)
        pages = [each.page for each in sources if each.page is not None]
        if not pages:
            failures = " ".join(f"{each.source.url}: {each.source.error}" for each in sources)
            raise ExtractionFailed(f"No page could be read. {failures}")
        # Callers who send values have a model of their own, most likely a better one.
        run = ExtractionRun() if request.claims else self._extractor.begin(until, request.caller)
        run.caller = request.caller
        if request.claims:
            findings = await self._verify(request, sources, spec, run)
        else:
            findings = await self._extractor.answer(pages, request.prompt, spec, run)
        return await self._answer(request, sources, findings, run)

    async def _verify(
        self,
        request: ExtractRequest,
        sources: Sequence[SourcePage],
        spec: ExtractionSpec | None,
        run: ExtractionRun,
    ) -> Findings:
        """Verify the caller's values, and extract the other fields of their schema by rules."""
        if spec is None:
            schema = schema_of_claims(request.claims)
            spec = make_extraction_spec(request.prompt, schema, is_schema_given=False)
        pages = {each.source.url: each.page for each in sources if each.page is not None}
        found = await verify_claims(request.claims, pages, spec)
        run.note_engine(ExtractionEngine.CALLER)
        if spec.is_schema_given:
            known = await self._extractor.extract([*pages.values()], spec, run)
            found = join_stages(found, known)
        if len(pages) == 1:
            # With several pages, array items no longer have the positions of one page.
            await self._extractor.learn([*pages.values()], spec, [found], run)
        return Findings(order_by_schema(drop_refused(found, spec.check), spec.fields), spec)

    async def _answer(
        self,
        request: ExtractRequest,
        sources: Sequence[SourcePage],
        findings: Findings,
        run: ExtractionRun,
    ) -> ExtractAnswer:
        spec = findings.spec

        def bound(found: ExtractedData) -> ExtractedData:
            kept = keep_grounded(found) if request.strict_grounding else found
            return cut_to_size(kept, self._limits.max_bytes)

        cost = len(findings.extracted.values) * _CHARS_PER_VALUE
        found = await run_in_thread(cost, bound, findings.extracted)
        warnings = [*run.warnings, *found.warnings]
        fallback = None
        if found.missing or not found.values:
            pages = [(n, each.page) for n, each in enumerate(sources) if each.page is not None]
            schema = spec.schema if spec else None
            fallback = await find_fallback_passages(
                self._sandbox, pages, request.prompt, schema, found.missing
            )
            if run.budget is None and not request.claims:
                warnings.append(_NO_MODEL)
        return ExtractAnswer(
            extracted=replace(found, warnings=tuple(dict.fromkeys(warnings))),
            sources=tuple(each.source for each in sources),
            engines=tuple(run.engines),
            schema_problems=spec.check.problems(found.data) if spec else (),
            usage=self._extractor.usage_of(run),
            fallback_passages=fallback,
        )


_NOTHING = (
    "Nothing that `extract` asks for was found on the page: take it from the content, or name the "
    "fields in `extractSchema`."
)
_NOTHING_FOR_SCHEMA = "Nothing that `extractSchema` asks for was found on the page."
_NO_TEXT = "`extract` does nothing here: this is a file without text."


class DocumentExtraction:
    """Adds extracted data to scraped documents."""

    def __init__(self, extractor: Extractor, max_bytes: int) -> None:
        self._extractor = extractor
        self._max_bytes = max_bytes

    def check(self, request: ScrapeRequest) -> None:
        """Return if the schema of a request is valid, or if it has none.

        Raises:
            InvalidRequest: it is not; the message says where.
        """
        read_schema_of_scrape(request)

    async def extract(self, document: Document, request: ScrapeRequest, until: float) -> Document:
        """Return the document with extracted data, or with a warning that says why there is none.

        Args:
            document: the page.
            request: its prompt and its schema say what to extract.
            until: the deadline, by the loop's clock.
        """
        if document.media is not None:
            return _with_warnings(document, (_NO_TEXT,))
        spec, run = read_schema_of_scrape(request), self._extractor.begin(until, request.caller)
        findings = await self._extractor.answer(
            [page_of(document)], request.extract or "", spec, run
        )
        found = cut_to_size(findings.extracted, self._max_bytes)
        warned = _with_warnings(document, (*run.warnings, *found.warnings))
        if not found.values:
            return _with_warnings(warned, (_NOTHING if spec is None else _NOTHING_FOR_SCHEMA,))
        payload: dict[str, Json] = {
            "data": found.data,
            "proof": list(describe_proof(found)),
            "missing": list(found.missing),
            **describe_engines(run.engines, self._extractor.usage_of(run)),
        }
        if found.conflicts:
            payload["conflicts"] = [describe_conflict(each) for each in found.conflicts]
        if spec is not None and (problems := spec.check.problems(found.data)):
            payload["schemaErrors"] = list(problems)
        return replace(warned, extracted=json.dumps(payload, ensure_ascii=False))


def _with_warnings(document: Document, warnings: tuple[str, ...]) -> Document:
    content = document.content
    content = replace(content, warnings=(*content.warnings, *dict.fromkeys(warnings)))
    return replace(document, content=content)
