"""A job as somebody who watches it from the command line sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from cinder.model.document import Json

_GOING_ON = ("queued", "running", "scraping")


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """How far a job has come."""

    id: str
    status: str
    found: int
    """Pages that belong to it, as far as is known by now."""
    fetched: int
    queued: int
    errors: int
    progress: float
    error: str | None = None
    ended_by: str | None = None
    """Why it is over: nothing was left to do, or one of its limits."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many URLs were left out, by the limit that did it."""
    pages: Sequence[Mapping[str, Json]] = field(default=())
    """Those that were asked for, in the order in which they were fetched."""
    has_more_pages: bool = False

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> Self:  # Any: JSON
        """Return what the status of a crawl or a batch tells."""
        is_crawl = "crawlId" in answer
        return cls(
            id=answer["crawlId" if is_crawl else "jobId"],
            status=answer["status"],
            found=answer["pagesFound" if is_crawl else "total"],
            fetched=answer["pagesCrawled" if is_crawl else "creditsUsed"],
            queued=answer["queued"],
            errors=answer["errorCount"],
            progress=answer["progress"],
            error=answer.get("error") or answer.get("warning"),
            ended_by=answer.get("endedBy"),
            left_out=answer.get("leftOut", {}),
            pages=answer["pages"],
            has_more_pages=answer["hasMore"],
        )

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be done."""
        return self.status not in _GOING_ON

    @property
    def is_completed(self) -> bool:
        """Whether it came to its end."""
        return self.status == "completed"

    def to_json(self) -> dict[str, Json]:
        """Return its figures as `--json` shows them."""
        shown: dict[str, Json] = {
            "id": self.id,
            "status": self.status,
            "found": self.found,
            "fetched": self.fetched,
            "queued": self.queued,
            "errors": self.errors,
            "progress": self.progress,
            "leftOut": dict(self.left_out),
        }
        if self.ended_by:
            shown["endedBy"] = self.ended_by
        return shown | ({"error": self.error} if self.error else {})
