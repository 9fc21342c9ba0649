"""Change tracking: compares a page with its last saved version."""

from cinder.errors import Overloaded, ParseLimitExceeded
from cinder.models.caller import CallerPolicy
from cinder.models.document import Document, VerdictKind
from cinder.models.request import ScrapeRequest
from cinder.models.saved import ChangeStatus, Comparison, PageChange, SavedDocument
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.services.auth import may_fetch_from
from cinder.store import Store

_GONE_STATUSES = (404, 410)
# What came instead of the page: nothing to compare a later version with.
_NOT_THE_PAGE = (VerdictKind.BLOCKED, VerdictKind.HTTP_ERROR, VerdictKind.SOFT_404)


class ChangeTracker:
    """Compares documents with what was last saved of the same page for the same caller."""

    def __init__(self, store: Store, sandbox: ExtractionSandbox) -> None:
        self._store = store
        self._sandbox = sandbox

    async def track(
        self, document: Document, request: ScrapeRequest, content_key: str, policy: CallerPolicy
    ) -> PageChange | None:
        """Return what has become of a page; None where that cannot be told.

        A version that came from where the caller's token does not go is none to compare with.

        A page that answers with an error is one that cannot be told about, unless it is gone and
        was there before.
        """
        is_gone = _is_gone(document)
        if not is_gone and document.verdict.kind in _NOT_THE_PAGE:
            return None
        previous = await self._store.find_comparable(request.url, content_key, request.caller)
        if previous is None or not may_fetch_from(policy, previous.document.final_url):
            return None if document.status_code >= 400 else PageChange(status=ChangeStatus.NEW)
        if is_gone:
            return _change(ChangeStatus.REMOVED, previous)
        return await self._compare(previous, document)

    async def _compare(self, previous: SavedDocument, document: Document) -> PageChange:
        warning = _describe_doubt(previous.document, document)
        try:
            shown = await self._compare_contents(previous.document, document)
        except (Overloaded, ParseLimitExceeded) as error:
            shown = Comparison(is_same=False)
            warning = f"The difference could not be worked out: {error.message}"
        status = ChangeStatus.SAME if shown.is_same else ChangeStatus.CHANGED
        if status is ChangeStatus.SAME:
            warning = None
        return _change(status, previous, shown, warning)

    async def _compare_contents(self, before: Document, after: Document) -> Comparison:
        old, new = _texts(before, after)
        if before.media is not None or after.media is not None:
            return Comparison(is_same=before.media == after.media)
        if old == new:
            return Comparison(is_same=True)
        return await self._sandbox.compare(old, new, after.url)


def is_comparable(document: Document, request: ScrapeRequest) -> bool:
    """Whether later versions of a page may be compared with this one."""
    content = document.content
    text = content.markdown if request.content.clean else content.text
    has_content = document.media is not None or text is not None
    return has_content and document.verdict.kind not in _NOT_THE_PAGE


def _is_gone(document: Document) -> bool:
    verdict = document.verdict.kind
    is_missing = verdict is VerdictKind.HTTP_ERROR and document.status_code in _GONE_STATUSES
    return is_missing or verdict is VerdictKind.SOFT_404


def _texts(before: Document, after: Document) -> tuple[str, str]:
    """Return what to compare: the markdown, or both as they came where one was not converted."""
    old, new = before.content.markdown, after.content.markdown
    if old is None or new is None:
        return before.content.text or "", after.content.text or ""
    return old, new


def _change(
    status: ChangeStatus,
    previous: SavedDocument,
    shown: Comparison | None = None,
    warning: str | None = None,
) -> PageChange:
    return PageChange(
        status=status,
        previous_at=previous.document.scraped_at,
        previous_uri=previous.primary_uri,
        diff=shown.diff if shown else None,
        warning=warning,
    )


def _describe_doubt(before: Document, after: Document) -> str | None:
    """Return why a difference may not be the page's own, if it may not."""
    old, new = before.verdict.kind, after.verdict.kind
    if old is new:
        return None
    return (
        f"What came this time is judged {new} and what was saved {old}: "
        "the difference may be one of access and not of the page."
    )
