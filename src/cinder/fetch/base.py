"""What it takes to be a fetch engine."""

from dataclasses import dataclass, field
from typing import Protocol

from cinder.model.document import FetchedPage, Validators


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTask:
    """One URL for an engine to fetch."""

    url: str
    timeout_seconds: float
    headers: tuple[tuple[str, str], ...] = ()
    validators: Validators = field(default_factory=Validators)
    """What to ask with whether the page at `validated_url` has changed."""
    validated_url: str | None = None


class Fetcher(Protocol):
    """An engine that gets a URL's bytes, once: redirects followed, nothing retried.

    `name` is the strategy that diagnostics show.
    """

    name: str

    async def fetch(self, task: FetchTask) -> FetchedPage:
        """Fetch a URL; a page with an HTTP error status is a page like any other.

        Raises:
            CinderError: the page could not be had; its code says why.
        """
        ...
