"""The ledger: background jobs, and every URL that they have seen."""

from cinder.store.ledger.frontier import FrontierOperations
from cinder.store.ledger.job_rows import JobOperations
from cinder.store.ledger.leases import LeaseOperations
from cinder.store.ledger.page_commits import PageCommitOperations


class Ledger(JobOperations, FrontierOperations, LeaseOperations, PageCommitOperations):
    """Keeps jobs and the status of every URL they see."""
