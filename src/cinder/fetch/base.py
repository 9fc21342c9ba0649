"""The protocol of a fetch engine, and its task."""

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
    """The validators of a conditional request for `validated_url`."""
    validated_url: str | None = None
    caller: str = OWNER
    is_for_job: bool = False
    is_private: bool = False
    """Whether the response may be meant for this caller alone."""
    render: RenderOptions = field(default_factory=RenderOptions)
    screenshot: Format | None = None
    wants_images: bool = False
    """Whether to load the page's images too."""
    wants_styles: bool = False
    """Whether to sample the page's computed styles; only a browser can."""
    may_land: Callable[[str], bool] | None = None
    """Whether a redirect or a browser's navigation to a URL may be followed."""
    may_connect: Callable[[str], bool] | None = None
    """Whether a browser may connect to a host at all; None for all that egress allows."""

    @property
    def queue_seconds(self) -> float:
        """How long it may wait in a queue: the rest is needed to fetch and parse the page."""
        return self.timeout_seconds / 3

    @property
    def claimant(self) -> Requester:
        """The requester of a slot in a fair queue."""
        return Requester(caller=self.caller, is_job=self.is_for_job, site=origin_of(self.url))


class RedirectRefused(CinderError):
    """The page redirects to a URL that this request may not fetch."""

    def __init__(self, url: str, target: str) -> None:
        super().__init__(f"It redirects to {target}, which is not to be fetched", url=url)
        self.target = target


class FileFound(Exception):
    """The URL leads to a file, which a browser would download instead of showing it.

    `headers` are needed to request it, such as the cookies set on the way.
    """

    def __init__(self, url: str, headers: tuple[tuple[str, str], ...]) -> None:
        super().__init__(url)
        self.url = url
        self.headers = headers


class Fetcher(Protocol):
    """An engine that fetches a URL once: it follows redirects and does not retry.

    `name` is the strategy in diagnostics.
    """

    name: str

    async def fetch(self, task: FetchTask) -> FetchedPage:
        """Fetch a URL; a page with an HTTP error status is returned like any other.

        Raises:
            CinderError: the page could not be fetched; the code gives the reason.
            FileFound: the URL leads to a file, and this engine fetches only pages.
        """
        ...
