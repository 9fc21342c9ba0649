"""Jobs, their schedules, and the ledger of the pages they work on."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cinder.models.document import Json


class JobKind(StrEnum):
    """What a job works on: a list of URLs, or the pages of a site."""

    BATCH = "batch"
    CRAWL = "crawl"


class JobStatus(StrEnum):
    """The status of a job."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether the job has ended."""
        return self not in (JobStatus.QUEUED, JobStatus.RUNNING)


class PageStatus(StrEnum):
    """The outcome of a URL; the ledger keeps one, with a reason, for every URL seen."""

    FETCHED = "fetched"
    DISALLOWED = "disallowed by robots"
    OUTSIDE = "outside scope"
    DUPLICATE = "duplicate of"
    TRAP = "trap"
    FAILED = "failed"
    LEFT = "left out"
    """The job ended before it was fetched: cancelled, or at its page limit."""


ERROR_STATUSES = (PageStatus.FAILED, PageStatus.DISALLOWED)
"""The statuses of URLs that could not be fetched."""


class EndedBy(StrEnum):
    """Why a job ended; also, the limit by which a URL was left out."""

    ALL_PAGES = "allPages"
    """Every page of the job is done."""
    MAX_PAGES = "maxPages"
    MAX_DEPTH = "maxDepth"
    TRAP = "trap"
    """An endless URL space, of which only some URLs were fetched."""
    MAX_BYTES = "maxBytes"
    CANCELLED = "cancelled"
    FAILED = "failed"


NOT_FOLLOWED_RANK = 2**30
"""The rank of URLs that only links marked nofollow lead to; another link may still lead there."""


class PageState(StrEnum):
    """The state of a URL in the ledger."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be stored."""

    id: str
    kind: JobKind
    owner: str
    """The caller who started it; no other may see it."""
    spec: dict[str, Json] = field(repr=False)
    """What to do, as the service encodes it; it may contain secrets.

    Secrets are in nested objects and lists, which are deleted when the job ends; plain values stay.
    """
    expires_at: datetime
    max_pages: int
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A stored job and its progress."""

    id: str
    kind: JobKind
    owner: str
    status: JobStatus
    spec: dict[str, Json] = field(repr=False)
    created_at: datetime
    expires_at: datetime
    max_pages: int
    started_at: datetime | None = None
    finished_at: datetime | None = None
    found: int = 0
    """The number of URLs in its ledger."""
    fates: dict[PageStatus, int] = field(default_factory=dict)
    """The number of URLs by status; the others are queued or leased."""
    too_deep: int = 0
    """How many of the URLs outside its scope exceed its depth."""
    bytes_fetched: int = 0
    """The decompressed size of all its pages."""
    attempts: int = 0
    """The number of failures in a row."""
    error: str | None = None
    is_expired: bool = False
    """Whether its pages were deleted, and only this record is left."""
    is_seeded: bool = False
    """Whether all its first URLs are in the ledger."""

    @property
    def fetched(self) -> int:
        """The number of pages fetched."""
        return self.fates.get(PageStatus.FETCHED, 0)

    @property
    def failed(self) -> int:
        """The number of pages that failed, without those that robots.txt disallows."""
        return self.fates.get(PageStatus.FAILED, 0)

    @property
    def ended_by(self) -> EndedBy | None:
        """Why it ended: the limit that ended it, where it met several; None while it runs."""
        match self.status:
            case JobStatus.CANCELLED:
                return EndedBy.CANCELLED
            case JobStatus.FAILED:
                return EndedBy.FAILED
            case JobStatus.COMPLETED:
                return next(iter(self.left_out), EndedBy.ALL_PAGES)
        return None

    @property
    def left_out(self) -> dict[EndedBy, int]:
        """The number of URLs left out by reason, without zeros; the reason it ended comes first."""
        ends = {JobStatus.CANCELLED: EndedBy.CANCELLED, JobStatus.FAILED: EndedBy.FAILED}
        # A completed job has an error message only where it met the limit of bytes.
        limit = EndedBy.MAX_BYTES if self.error else EndedBy.MAX_PAGES
        counts = {
            ends.get(self.status, limit): self.fates.get(PageStatus.LEFT, 0),
            EndedBy.MAX_DEPTH: self.too_deep,
            EndedBy.TRAP: self.fates.get(PageStatus.TRAP, 0),
        }
        return {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPage:
    """A URL for the ledger: to be fetched, or with the status it has from the start."""

    url: str
    fingerprint: bytes
    """The hash of its canonical form, unique within a job."""
    host: str
    """Its origin, which the host throttle applies to."""
    depth: int = 1
    rank: int = 0
    """Its place in the order of fetches, the lowest first."""
    template: str = ""
    """The pattern of its URL, by which endless URL spaces are detected."""
    fate: PageStatus | None = None
    reason: str = ""
    is_too_deep: bool = False
    """Whether only its depth puts it outside the scope; a shorter path may still lead to it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLease:
    """The right to fetch one URL and to record its outcome, until the lease expires."""

    page_id: int
    job_id: str
    url: str
    host: str
    depth: int
    fence: int
    """Increases with every lease: an older one is no longer valid."""
    tries: int
    """How often it was leased before."""
    delay_ms: int = 0
    """The delay between two requests to its host that all workers observe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseBatch:
    """The pages a worker may fetch now, or when to ask again."""

    claims: tuple[PageLease, ...] = ()
    wait_ms: int | None = None
    """How long until there may be more pages; None when there is nothing to wait for."""
    is_over: bool = False
    """Whether no URL of the job is queued or leased."""
    has_suspects: bool = False
    """Whether only suspects are left, each of which a process fetches alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLimits:
    """How many pages may be leased at once, and for how long."""

    count: int
    seconds: float
    host_concurrency: int
    least_delay_ms: int = 0
    """The minimum delay between two requests to one host."""
    is_alone: bool = False
    """Whether the process works on no other page of any job, so that it may lease a suspect."""
    crash_tries: int = 3
    """A suspect fails after its process died, or hung, this often while fetching it alone."""


@dataclass(frozen=True, slots=True)
class ContentFingerprint:
    """The hashes of a page's text by which duplicates and near-duplicates are found."""

    exact: bytes
    sketch: bytes = b""
    keys: tuple[int, ...] = ()
    """Near-duplicates share at least one of these numbers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """The outcome of a leased URL."""

    fate: PageStatus
    reason: str = ""
    status_code: int | None = None
    verdict: str | None = None
    title: str | None = None
    content_length: int | None = None
    uris: tuple[str, ...] = ()
    """The URIs of the saved page, the primary body first."""
    body_bytes: int = 0
    """The decompressed size of the response."""
    content: ContentFingerprint | None = None
    canonical: NewPage | None = None
    """The URL that the page names as its own, of which it is a duplicate if that has a page."""
    landed_on: NewPage | None = None
    """The URL that it redirects to, to which the result belongs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage:
    """One row of a job's ledger, as callers see it."""

    id: int
    url: str
    depth: int
    state: PageState
    fate: PageStatus | None
    reason: str
    status_code: int | None
    verdict: str | None
    title: str | None
    content_length: int | None
    uris: tuple[str, ...] = ()
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostState:
    """The delay and the robots.txt of a host, shared by all workers."""

    host: str
    delay_ms: int = 0
    robots: bytes | None = None
    """Its robots.txt."""
    robots_status: int | None = None
    """The HTTP status of robots.txt; 0 without a response; None before the first request."""
    robots_at: datetime | None = None
    robots_failures: int = 0
    """The number of failed requests for robots.txt in a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """The number of URLs of a job by state and status."""

    queued: int = 0
    leased: int = 0
    fates: dict[PageStatus, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """A job to start at regular times."""

    name: str
    owner: str
    kind: JobKind
    cron: str
    """Five fields in UTC: minute, hour, day of month, month, day of week."""
    spec: dict[str, Json]
    next_at: datetime
