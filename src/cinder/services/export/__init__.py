"""Exports the pages of a crawl or batch as files of Markdown, one text, JSONL, WARC or Parquet."""
