"""Ten times as many requests as a server can serve: what it accepts it serves, the rest it refuses.

The marks are twice the idle time, 100 ms and 200 ms. A machine that has other things to do as well
gets five times as much, and another try where it was held up; `make soak` holds a longer load
against the marks themselves.
"""

from pathlib import Path

from tests.api.running import run_server
from tests.faults.load import Load, Overload, overload, serve_slow_site

_SECONDS = 5
_NOISE = 5
_TRIES = 3
_MAX_GROWTH_BYTES = 256 * 1024 * 1024


def _is_in_time(result: Overload) -> bool:
    return (
        result.accepted_ratio < 2 * _NOISE
        and result.refused_seconds < 0.1 * _NOISE
        and result.health_seconds < 0.2 * _NOISE
    )


async def test_what_is_accepted_is_soon_served_and_the_rest_is_refused_at_once(
    tmp_path: Path,
) -> None:
    results: list[Overload] = []
    while len(results) < _TRIES and not any(map(_is_in_time, results)):
        result = await overload(tmp_path / f"data {len(results)}", seconds=_SECONDS)
        assert result.measured.statuses == {200, 503}
        # Were all let in, far more would have been served than it takes at once.
        assert len(result.measured.seconds(200)) <= 2 * result.capacity, result.figures
        assert result.growth_bytes < _MAX_GROWTH_BYTES, result.figures
        results.append(result)
    assert any(map(_is_in_time, results)), [result.figures for result in results]


async def test_a_few_requests_in_parallel_wait_for_their_turn_and_none_is_refused(
    tmp_path: Path,
) -> None:
    async with (
        serve_slow_site(page_seconds=0.1) as site,
        run_server(
            tmp_path / "data", CINDER_EGRESS__ALLOW=site.address, CINDER_SCRAPE__MAX_IN_FLIGHT="2"
        ) as server,
    ):
        load = Load(server, site)
        statuses = await load.scrape_at_once(8)
    assert statuses == [200] * 8
