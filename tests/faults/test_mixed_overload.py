"""A sample of the overload that `make soak` applies for longer, with its bounds five times as wide.

The bounds are those of a machine that may be busy with other things: a server that answers late by
itself misses them by far.
"""

from pathlib import Path

from tests.faults.mixed_overload import MixedOverload, overload_mixed

_SECONDS = 8
_NOISE = 5
_TRIES = 3


def _is_in_time(result: MixedOverload) -> bool:
    return (
        result.health_seconds < 0.4 * _NOISE
        and result.refused_seconds < 0.25 * _NOISE
        and result.recovery_seconds is not None
        and result.recovery_seconds < 5 * _NOISE
    )


async def test_ten_times_the_capacity_neither_ends_the_server_nor_silences_it(
    tmp_path: Path,
) -> None:
    results: list[MixedOverload] = []
    blocked: list[list[str]] = []
    while len(results) < _TRIES and not (any(map(_is_in_time, results)) and [] in blocked):
        data_dir = tmp_path / f"data{len(results)}"
        result = await overload_mixed(data_dir, seconds=_SECONDS)
        assert result.is_alive, result.figures
        assert result.load.of(200), result.figures
        assert {*result.load.statuses} <= {200, 503, 429, 0}, result.figures
        results.append(result)
        # A thread that the machine stops while it holds the interpreter blocks the loop as well:
        # that happens at times, and what cinder itself does on the loop happens each time.
        log = data_dir.with_suffix(".log").read_text().splitlines()
        blocked.append([line for line in log if "event loop blocked" in line])
    assert any(map(_is_in_time, results)), [result.figures for result in results]
    assert [] in blocked, blocked
