import pytest

from cinder.model.request import ScrapeRequest
from cinder.surfaces.mcp.deadline import CALL_SECONDS, SCRAPE_TIMEOUT_MS, bound_timeout


@pytest.mark.parametrize(
    ("asked", "given"), [(1_000, 1_000), (60_000, SCRAPE_TIMEOUT_MS), (300_000, SCRAPE_TIMEOUT_MS)]
)
def test_longer_timeouts_than_clients_wait_are_shortened(asked: int, given: int) -> None:
    request = ScrapeRequest(url="https://example.com/", timeout_ms=asked)
    assert bound_timeout(request).timeout_ms == given


def test_a_call_ends_before_clients_give_up() -> None:
    assert SCRAPE_TIMEOUT_MS / 1000 < CALL_SECONDS < 55
