"""Exports the pages of a crawl or batch as JSONL, WARC or Parquet, as a stream."""
