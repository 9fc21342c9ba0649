"""The hostile cases that concern content, and what passes as their answer."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# What of `transport` ends in a parser or a decompressor.
CONTENT_PATHS = ("/gz", "/br", "/zstd", "/deflate", "/ce-", "/ct-")
# The data names its codes by itself; these are cinder's. A page without content is no error.
CODES = {
    "EMPTY_CONTENT": {"OK"},
    "FETCH_FAILED": {"SCRAPE_FAILED"},
    "PARSE_ERROR": {"PARSE_LIMIT", "SCRAPE_FAILED", "UNSUPPORTED"},
    "PASSWORD_PROTECTED": {"PARSE_LIMIT", "SCRAPE_FAILED", "UNSUPPORTED"},
    "UNSUPPORTED_CONTENT": {"UNSUPPORTED", "SCRAPE_FAILED"},
    "TIMEOUT": {"SCRAPE_TIMEOUT"},
}
FORMATS = ["markdown", "html", "links"]


@dataclass(frozen=True, slots=True)
class Case:
    """One input, and the limits that the answer must keep."""

    category: str
    path: str
    codes: frozenset[str]
    max_seconds: float
    max_rss_mb: float
    max_output_bytes: float

    def body(self, address: str) -> dict[str, Any]:  # Any: as JSON has it
        """Return the request to send to POST /api/v2/scrape."""
        parsers = [{"type": "pdf"}] if self.category == "pdf" else []
        return {
            "url": f"http://{address}{self.path}",
            "formats": FORMATS,
            "parsers": parsers,
            "mode": "static",
            "forceRescrape": True,
        }


def read_cases(folder: Path) -> list[Case]:
    """Return the cases about pages, PDF files, encodings and content types."""
    lines = (folder / "bad_inputs.jsonl").read_text().splitlines()
    cases = [_read(json.loads(line)) for line in lines if '"rest:/scrape"' in line]
    return [case for case in cases if case is not None]


def _read(row: dict[str, Any]) -> Case | None:
    category, expected = row["category"], row["expect"]
    if category not in ("parser", "pdf", "transport"):
        return None
    path = row["input"]["url"].partition("{FIX}")[2]
    if category == "transport" and not path.startswith(CONTENT_PATHS):
        return None
    named = expected["code"].split("|")
    return Case(
        category=category,
        path=path,
        codes=frozenset(code for name in named for code in CODES.get(name, {name})),
        max_seconds=expected["max_s"],
        max_rss_mb=expected["max_rss_mb"],
        max_output_bytes=expected.get("max_output_bytes", float("inf")),
    )
