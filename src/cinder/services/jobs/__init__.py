"""Batches and crawls: jobs that scrape many pages in the background."""
