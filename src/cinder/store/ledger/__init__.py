"""The ledger: background jobs, and every URL that they have seen."""
