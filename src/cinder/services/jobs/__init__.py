"""Batches and crawls: jobs whose every page is scraped as any other page is."""
