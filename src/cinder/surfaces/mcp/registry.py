"""The registry: every tool, in the order in which clients see them."""

from typing import Any

from cinder.surfaces.mcp.tool import Tool
from cinder.surfaces.mcp.tools.cinder_scrape import CINDER_SCRAPE
from cinder.surfaces.mcp.tools.crawl import CRAWL, CRAWL_STATUS
from cinder.surfaces.mcp.tools.extract import EXTRACT
from cinder.surfaces.mcp.tools.scrape import SCRAPE
from cinder.surfaces.mcp.tools.search import SEARCH, SEARCH_AND_SCRAPE
from cinder.surfaces.mcp.tools.text_tools import EXTRACT_CONTENT, TEXT_SIMILARITY

# Any: each tool has an arguments model of its own, and reads its arguments by it.
TOOLS: tuple[Tool[Any], ...] = (
    SCRAPE,
    CINDER_SCRAPE,
    SEARCH,
    SEARCH_AND_SCRAPE,
    CRAWL,
    CRAWL_STATUS,
    EXTRACT,
    EXTRACT_CONTENT,
    TEXT_SIMILARITY,
)
