"""Jobs, their schedules, and the ledger of the pages they work on."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from cinder.models.document import Json


class JobKind(StrEnum):
    """What a job works on: the URLs of a list, or what a site leads to."""

    BATCH = "batch"
    CRAWL = "crawl"


class JobStatus(StrEnum):
    """How far a job has come."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be done."""
        return self not in (JobStatus.QUEUED, JobStatus.RUNNING)


class PageStatus(StrEnum):
    """What became of a URL; the ledger has one, and a reason, for every URL ever seen."""

    FETCHED = "fetched"
    DISALLOWED = "disallowed by robots"
    OUTSIDE = "outside scope"
    DUPLICATE = "duplicate of"
    TRAP = "trap"
    FAILED = "failed"
    LEFT = "left out"
    """It was to be fetched, but the job ended first: cancelled, or at its number of pages."""


ERROR_STATUSES = (PageStatus.FAILED, PageStatus.DISALLOWED)
"""Those of URLs that could not be had."""


class EndedBy(StrEnum):
    """Why a job is over; also, by which of its limits a URL was left out."""

    ALL_PAGES = "allPages"
    """Every page that belongs to it has been dealt with."""
    MAX_PAGES = "maxPages"
    MAX_DEPTH = "maxDepth"
    TRAP = "trap"
    """An endless space of addresses, of which only some were taken."""
    MAX_BYTES = "maxBytes"
    CANCELLED = "cancelled"
    FAILED = "failed"


class PageState(StrEnum):
    """Where a URL of the ledger stands."""

    QUEUED = "queued"
    LEASED = "leased"
    DONE = "done"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewJob:
    """A job to be kept."""

    id: str
    kind: JobKind
    owner: str
    """Who started it, and alone may see it."""
    spec: dict[str, Json] = field(repr=False)
    """What is to be done, as the service that does it writes and reads it; it may hold secrets.

    Those stand within objects and lists, which are forgotten when the job ends; plain values stay.
    """
    expires_at: datetime
    max_pages: int
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A job as it is kept, and how far it has come."""

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
    """URLs in its ledger."""
    fates: dict[PageStatus, int] = field(default_factory=dict)
    """How many of them have which fate; the others are queued or leased."""
    too_deep: int = 0
    """How many of those outside its scope are deeper than it may go."""
    bytes_fetched: int = 0
    """Of all its pages together, unpacked."""
    attempts: int = 0
    """How often in a row working on it has failed."""
    error: str | None = None
    is_expired: bool = False
    """Whether its pages are gone, and only the fact that it was is left."""
    is_seeded: bool = False
    """Whether its first URLs are all in the ledger."""

    @property
    def fetched(self) -> int:
        """Pages that were got."""
        return self.fates.get(PageStatus.FETCHED, 0)

    @property
    def failed(self) -> int:
        """Pages that could not be had, but for those that robots.txt disallows."""
        return self.fates.get(PageStatus.FAILED, 0)

    @property
    def ended_by(self) -> EndedBy | None:
        """Why it is over: of the limits that it met, the one that ended it; None while it runs."""
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
        """How many URLs were left out for which reason, its end first; no reason that left none."""
        ends = {JobStatus.CANCELLED: EndedBy.CANCELLED, JobStatus.FAILED: EndedBy.FAILED}
        # What ends a job well and has something to say is the limit of bytes.
        limit = EndedBy.MAX_BYTES if self.error else EndedBy.MAX_PAGES
        counts = {
            ends.get(self.status, limit): self.fates.get(PageStatus.LEFT, 0),
            EndedBy.MAX_DEPTH: self.too_deep,
            EndedBy.TRAP: self.fates.get(PageStatus.TRAP, 0),
        }
        return {reason: count for reason, count in counts.items() if count}


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPage:
    """A URL for the ledger: to be fetched, or with the fate it has at first sight."""

    url: str
    fingerprint: bytes
    """Of its canonical form; a job has each only once."""
    host: str
    """Whose politeness it falls under: its origin."""
    depth: int = 1
    template: str = ""
    """The shape of its address, by which endless spaces are told."""
    fate: PageStatus | None = None
    reason: str = ""
    is_too_deep: bool = False
    """Whether it is outside the scope for its depth alone: met closer to the start, it is not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageLease:
    """The right to fetch one URL and to say what became of it, until the lease runs out."""

    page_id: int
    job_id: str
    url: str
    host: str
    depth: int
    fence: int
    """Grows with every lease: whoever holds an older one has lost the right."""
    tries: int
    """How often it was claimed before."""
    delay_ms: int = 0
    """The time between two requests to its host, as all workers keep it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseBatch:
    """What a worker may fetch now, or when to ask again."""

    claims: tuple[PageLease, ...] = ()
    wait_ms: int | None = None
    """How long until there may be more; None when nothing is left to wait for."""
    is_over: bool = False
    """Whether no URL of the job is queued or leased any more."""
    has_suspects: bool = False
    """Whether only suspects are left, which a process fetches one by one and nothing beside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseLimits:
    """How much may be claimed at once, and for how long."""

    count: int
    seconds: float
    host_concurrency: int
    least_delay_ms: int = 0
    """The least time between two requests to one host, whatever that host wants."""
    is_alone: bool = False
    """Whether the process works on no other page of any job, so that it may claim a suspect."""
    crash_tries: int = 3
    """A suspect whose process died, or hung, so often while it was alone has failed."""


@dataclass(frozen=True, slots=True)
class ContentFingerprint:
    """What is kept of a page's text to find others that are the same, or nearly."""

    exact: bytes
    sketch: bytes = b""
    keys: tuple[int, ...] = ()
    """Numbers of which pages that are nearly the same share at least one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageResult:
    """What became of a claimed URL."""

    fate: PageStatus
    reason: str = ""
    status_code: int | None = None
    verdict: str | None = None
    title: str | None = None
    content_length: int | None = None
    uris: tuple[str, ...] = ()
    """Where the page is saved, the body a reader most likely wants first."""
    body_bytes: int = 0
    """The size of the answer, unpacked."""
    content: ContentFingerprint | None = None
    landed_on: NewPage | None = None
    """The URL that it redirects to, which is the page; the result is that URL's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerPage:
    """One row of a job's ledger as a reader sees it."""

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
    """What is known of how a host wants to be treated, by all workers together."""

    host: str
    delay_ms: int = 0
    robots: bytes | None = None
    """Its robots.txt, as it was read."""
    robots_status: int | None = None
    """The HTTP status that came with it; 0 where nothing came; None where nobody has asked."""
    robots_at: datetime | None = None
    robots_failures: int = 0
    """How often in a row it could not be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobCounts:
    """How many URLs of a job there are of each state and fate."""

    queued: int = 0
    leased: int = 0
    fates: dict[PageStatus, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """What is to be started, and when."""

    name: str
    owner: str
    kind: JobKind
    cron: str
    """Five fields, in UTC: minute, hour, day of month, month, day of week."""
    spec: dict[str, Json]
    next_at: datetime
