"""Settings of what is kept, and of the work in the background that it is kept for."""

from pydantic import Field, SecretStr

from cinder.config.section import MEBIBYTE, Section


class StoreSettings(Section):
    """What is kept, where and how long."""

    url: str | None = None
    """Database: `sqlite:///path` or `postgresql://…`. When absent, cinder.db in the data
    directory."""
    retention_hours: float = Field(30 * 24, gt=0)
    """How long a saved version stays readable."""
    expiry_interval_seconds: float = Field(300, gt=0)
    """How often what has expired is deleted."""
    max_bytes: int = Field(50 * 1024 * MEBIBYTE, ge=16 * MEBIBYTE)
    """Largest size of the file that SQLite keeps all in; beyond it, saving answers STORAGE_FULL."""
    pool_size: int = Field(8, ge=1)
    """Database connections for reading at once."""
    memory_bytes: int = Field(64 * MEBIBYTE, ge=0)
    """Memory for the documents that cached scrapes read lately, in each process; 0 for none."""
    busy_timeout_seconds: float = Field(3, gt=0, le=60)
    """How long SQLite waits for another process that locks its file; then 503 is answered, and soon
    for as long as that goes on."""


class JobsSettings(Section):
    """Batches and crawls: work in the background."""

    enabled_in_server: bool = True
    """Whether servers work on jobs themselves; on PostgreSQL, `cinder worker` processes can."""
    slots: int = Field(4, ge=1)
    """Jobs that one process works on at once, of each caller who has any an equal part."""
    concurrency: int = Field(8, ge=1)
    """Pages of one job that one process works on at once."""
    workers_per_job: int = Field(4, ge=1)
    """Processes that work on one job at once, where there are that many."""
    host_concurrency: int = Field(4, ge=1)
    """Pages of one host that are asked for at once, by all processes together."""
    host_delay_ms: int = Field(0, ge=0)
    """The least time between two requests to one host; a site's crawl-delay may make it longer."""
    lease_seconds: float = Field(30, gt=0, le=600)
    """How long a page belongs to the process that fetches it, unless that says it still does."""
    crash_tries: int = Field(3, ge=1)
    """How often a page is fetched alone, after a process died with it; then it has failed."""
    slice_seconds: float = Field(10, gt=0)
    """How long a process works on one job before it looks whether another waits."""
    page_timeout_ms: int = Field(60_000, ge=1000)
    """How long one page of a crawl may take."""
    extract_workers: int = Field(2, ge=1)
    """Processes that turn pages of jobs into content, apart from those for single scrapes."""
    retention_hours: float = Field(24, gt=0)
    """How long the pages of a job can be listed; saved pages are kept for longer."""
    max_open: int = Field(1_000, ge=1)
    """Jobs that may be under way; further ones are refused as OVERLOADED."""
    max_open_per_caller: int = Field(200, ge=1)
    """Jobs of one caller that may be under way; further ones are refused as RATE_LIMITED."""
    max_batch_urls: int = Field(10_000, ge=1)
    """URLs that one batch may have."""
    max_pages: int = Field(100_000, ge=1)
    """Pages that one crawl may have."""
    max_bytes: int = Field(10 * 1024 * MEBIBYTE, ge=1024)
    """Bytes that the pages of one job may have together, unpacked; it ends at the page beyond."""


class WebhooksSettings(Section):
    """Telling others how jobs go."""

    secret: SecretStr = SecretStr("")
    """What events are signed with where a request names no secret; without one, each job gets its
    own."""
    concurrency: int = Field(8, ge=1)
    """Events that one process delivers at once."""
    timeout_seconds: float = Field(10, gt=0, lt=60)
    """How long a receiver may take to answer."""
