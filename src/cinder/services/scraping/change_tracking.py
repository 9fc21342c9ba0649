"""Change tracking: compares a page with its last saved version."""

from cinder.errors import Overloaded, ParseLimitExceeded
from cinder.models.caller import CallerPolicy, is_url_within
from cinder.models.document import Document, VerdictKind
from cinder.models.request import ScrapeRequest
from cinder.models.saved import ChangeStatus, Comparison, PageChange, SavedDocument
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.store.documents import Store

_GONE_STATUSES = (404, 410)
# Responses with these verdicts are not versions of the page.
_NOT_THE_PAGE = (VerdictKind.BLOCKED, VerdictKind.HTTP_ERROR, VerdictKind.SOFT_404)


class ChangeTracker:
    """Compares documents with the last saved version of the same page for the same caller."""

    def __init__(self, store: Store, sandbox: ExtractionSandbox) -> None:
        self._store = store
        self._sandbox = sandbox

    async def track(
        self, document: Document, request: ScrapeRequest, content_key: str, policy: CallerPolicy
    ) -> PageChange | None:
        """Return how a page changed; None if that is unknown.

        Saved versions from domains that the caller's token does not allow are ignored. The change
        of an error page is unknown, unless a saved page no longer exists.
        """
        verdict = document.verdict.kind
        is_gone = verdict is VerdictKind.SOFT_404 or (
            verdict is VerdictKind.HTTP_ERROR and document.status_code in _GONE_STATUSES
        )
        if not is_gone and verdict in _NOT_THE_PAGE:
            return None
        previous = await self._store.find_comparable(request.url, content_key, request.caller)
        if previous is None or not is_url_within(previous.document.final_url, policy.domains):
            return None if document.status_code >= 400 else PageChange(status=ChangeStatus.NEW)
        if is_gone:
            return _change(ChangeStatus.REMOVED, previous)
        try:
            shown = await self._compare(previous.document, document)
        except (Overloaded, ParseLimitExceeded) as error:
            failure = f"The difference could not be worked out: {error.message}"
            return _change(ChangeStatus.CHANGED, previous, warning=failure)
        if shown.is_same:
            return _change(ChangeStatus.SAME, previous, shown)
        warning: str | None = None
        old_verdict = previous.document.verdict.kind
        if verdict is not old_verdict:
            warning = (
                f"The verdict on this version is {verdict}, on the saved one {old_verdict}: the "
                "difference may be one of access and not of the page."
            )
        return _change(ChangeStatus.CHANGED, previous, shown, warning)

    async def _compare(self, before: Document, after: Document) -> Comparison:
        if before.media is not None or after.media is not None:
            return Comparison(is_same=before.media == after.media)
        # Compare the original texts if one version has no markdown.
        old, new = before.content.markdown, after.content.markdown
        if old is None or new is None:
            old, new = before.content.text or "", after.content.text or ""
        if old == new:
            return Comparison(is_same=True)
        return await self._sandbox.compare(old, new, after.url)


def is_comparable(document: Document, request: ScrapeRequest) -> bool:
    """Whether later versions of a page may be compared with this one."""
    content = document.content
    text = content.markdown if request.content.clean else content.text
    has_content = document.media is not None or text is not None
    return has_content and document.verdict.kind not in _NOT_THE_PAGE


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
