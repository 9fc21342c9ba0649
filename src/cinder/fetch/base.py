"""The protocol of a fetch engine, and the task that it is given."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from cinder.errors import CinderError
from cinder.fair_queue import Requester
from cinder.models.document import FetchedPage, Validators
from cinder.models.request import OWNER, Format, RenderOptions
from cinder.models.url import origin_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchTask:
    """One URL for an engine to fetch."""

    url: str
    timeout_seconds: float
    headers: tuple[tuple[str, str], ...] = ()
    validators: Validators = field(default_factory=Validators)
    """What to ask with whether the page at `validated_url` has changed."""
    validated_url: str | None = None
    caller: str = OWNER
    is_for_job: bool = False
    is_private: bool = False
    """Whether what is fetched may be meant for this caller's request alone."""
    render: RenderOptions = field(default_factory=RenderOptions)
    screenshot: Format | None = None
    wants_images: bool = False
    """Whether the page's images are of interest, and not its text alone."""
    wants_styles: bool = False
    """Whether to sample how the page looks; only a browser can."""
    may_land: Callable[[str], bool] | None = None
    """Whether a redirect to a URL may be followed, or a browser's page be left for it."""
    may_connect: Callable[[str], bool] | None = None
    """Whether a browser may connect to a host at all; None for all that egress allows."""

    @property
    def queue_seconds(self) -> float:
        """How long it may wait in a queue: enough must be left to fetch and parse the page."""
        return self.timeout_seconds / 3

    @property
    def claimant(self) -> Requester:
        """Whom a place to fetch it is for."""
        return Requester(caller=self.caller, is_job=self.is_for_job, site=origin_of(self.url))


class RedirectRefused(CinderError):
    """The page redirects to where this request may not go."""

    def __init__(self, url: str, target: str) -> None:
        super().__init__(f"It redirects to {target}, which is not to be fetched", url=url)
        self.target = target


class FileFound(Exception):
    """The URL leads to a file, which a browser would download rather than show.

    `headers` are what to ask for it with: a file may need the cookies that led to it.
    """

    def __init__(self, url: str, headers: tuple[tuple[str, str], ...]) -> None:
        super().__init__(url)
        self.url = url
        self.headers = headers


class Fetcher(Protocol):
    """An engine that gets a URL's bytes, once: redirects followed, nothing retried.

    `name` is the strategy that diagnostics show.
    """

    name: str

    async def fetch(self, task: FetchTask) -> FetchedPage:
        """Fetch a URL; a page with an HTTP error status is a page like any other.

        Raises:
            CinderError: the page could not be had; its code says why.
            FileFound: it is a file, and this engine only takes pages.
        """
        ...
