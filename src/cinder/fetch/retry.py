"""Retrying: whether a failed fetch is worth another try, and how long to wait before it."""

from dataclasses import dataclass
from datetime import datetime

from cinder.model.document import FetchedPage
from cinder.model.http import read_retry_after


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and how patiently a page is tried again."""

    max_retries: int = 2
    first_wait_seconds: float = 0.5
    max_wait_seconds: float = 20

    def wait_seconds(self, retries_done: int, retry_after: float | None = None) -> float | None:
        """Return how long to wait before the next try; None when there should be none.

        A server that asks for more patience than the policy has is not tried again: coming back
        early is what it asked us not to do.
        """
        if retries_done >= self.max_retries:
            return None
        if retry_after is not None:
            return retry_after if retry_after <= self.max_wait_seconds else None
        return min(self.first_wait_seconds * 2.0**retries_done, self.max_wait_seconds)


def is_retryable(page: FetchedPage) -> bool:
    """Whether the server's answer says, or breaks off so, that another try may go better."""
    return page.is_cut or page.status_code == 429 or page.status_code >= 500


def retry_after_seconds(page: FetchedPage, now: datetime) -> float | None:
    """Return the wait that the server asked for, given in seconds or as a date."""
    return read_retry_after(page.headers.get("retry-after", ""), now)
