"""The ledger: background jobs, and every URL that they have seen."""

from cinder.store.ledger.frontier import FrontierOperations
from cinder.store.ledger.job_rows import JobOperations
from cinder.store.ledger.leases import LeaseOperations
from cinder.store.ledger.outbox import EventEmitter, Outbox
from cinder.store.ledger.page_commits import (
    IsNearDuplicate,
    LeaseLost,
    PageCommit,
    PageCommitOperations,
)

__all__ = ["EventEmitter", "IsNearDuplicate", "LeaseLost", "Ledger", "Outbox", "PageCommit"]


class Ledger(JobOperations, FrontierOperations, LeaseOperations, PageCommitOperations):
    """Keeps jobs and the status of every URL they see."""
