"""The ledger: jobs that are worked on in the background, and every URL they have seen."""
