"""Extraction as a part of scraping: what a prompt wants of one page, kept beside it as JSON."""

import json
from dataclasses import replace

from cinder.model.document import Document, Json
from cinder.model.extracted_data import ExtractedData
from cinder.services.extraction.data_json import describe_conflict, describe_proof, describe_way
from cinder.services.extraction.extractor import Extractor
from cinder.services.extraction.output_limit import cut_to_size
from cinder.services.extraction.source_pages import page_of
from cinder.services.extraction.stages import Run

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

    def _write(self, found: ExtractedData, run: Run) -> str:
        told: dict[str, Json] = {
            "data": found.data,
            "proof": list(describe_proof(found)),
            "missing": list(found.missing),
            **describe_way(run.engines, self._extractor.usage_of(run)),
        }
        if found.conflicts:
            told["conflicts"] = [describe_conflict(each) for each in found.conflicts]
        return json.dumps(told, ensure_ascii=False)


def _with_warnings(document: Document, warnings: tuple[str, ...]) -> Document:
    content = document.content
    told = replace(content, warnings=(*content.warnings, *dict.fromkeys(warnings)))
    return replace(document, content=told)
