"""Summaries of documents: by the owner's language model if there is one, else of its sentences."""

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from cinder.errors import CinderError
from cinder.extract.reading.blocks import find_blocks
from cinder.extract.reading.summary import Summary, summarize
from cinder.llm.budget import Budget
from cinder.metrics import Metrics
from cinder.model.document import Document
from cinder.services.off_loop import off_loop
from cinder.services.summary_writing import SummaryWriter, WrittenSummary

BY_MODEL = "model"

_KEPT_SUMMARIES = 256
# Choosing sentences takes about as long as reading a text so many times as long.
SENTENCES_COST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PageSummary:
    """A document's summary, who wrote it, and what the reader should know of it."""

    summary: Summary | None
    """None where the page has nothing to make one of."""
    model: str = ""
    """The model that wrote it; empty where it is sentences of the page."""
    warning: str = ""


class Summarizer:
    """Has summaries written by the language model; where that fails, chooses sentences."""

    def __init__(
        self, writer: SummaryWriter, new_budget: Callable[[str], Budget], metrics: Metrics
    ) -> None:
        self._writer = writer
        self._new_budget = new_budget
        self._metrics = metrics
        self._kept: OrderedDict[bytes, PageSummary] = OrderedDict()

    async def summarize(self, document: Document, seconds: float, caller: str) -> PageSummary:
        """Return a document's summary within so many seconds; a failing model is only told."""
        markdown = document.content.markdown or ""
        if not markdown.strip():
            return PageSummary(summary=None)
        key = sha256(markdown.encode("utf-8", "replace")).digest()
        if (kept := self._kept.get(key)) is not None:
            self._kept.move_to_end(key)
            return kept
        try:
            async with asyncio.timeout(max(0.0, seconds)):
                written = await self._writer.write(markdown, self._new_budget(caller))
        except TimeoutError:
            return await self._stand_in(document, "The request's timeout left it too little time.")
        except CinderError as error:
            return await self._stand_in(document, error.message)
        summary = self._describe(written)
        self._keep(key, summary)
        return summary

    def _describe(self, written: WrittenSummary) -> PageSummary:
        return PageSummary(
            summary=Summary(written.text, BY_MODEL, ()),
            model=self._writer.model_name,
            warning=written.warning,
        )

    async def _stand_in(self, document: Document, reason: str) -> PageSummary:
        self._metrics.count_model_stand_in("summary")
        cost = SENTENCES_COST * len(document.content.markdown or "")
        summary = await off_loop(cost, summarize_document, document)
        told = f"The summary is made of the page's own sentences, not by the model: {reason}"
        return PageSummary(summary=summary, warning=told if told.endswith(".") else f"{told}.")

    def _keep(self, key: bytes, summary: PageSummary) -> None:
        self._kept[key] = summary
        while len(self._kept) > _KEPT_SUMMARIES:
            self._kept.popitem(last=False)


def summarize_document(document: Document) -> Summary | None:
    """Return the sentences that say most of a document; None where it has none."""
    markdown = document.content.markdown or ""
    summary = summarize(markdown, find_blocks(markdown))
    return summary if summary.text else None
