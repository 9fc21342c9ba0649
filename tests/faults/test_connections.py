"""One address that holds all connections it can get: another is served as before.

`make soak` has 5,000 silent connections, 2,000 slow heads and 500 streams, and looks at the time.
"""

from pathlib import Path

from tests.faults.flood import Flood, bear


async def test_an_address_that_floods_the_server_leaves_room_for_others(tmp_path: Path) -> None:
    limits = {
        "CINDER_SERVER__MAX_CONNECTIONS": "100",
        "CINDER_SERVER__MAX_CONNECTIONS_PER_ADDRESS": "40",
        "CINDER_SERVER__MAX_UNAUTHENTICATED_CONNECTIONS_PER_ADDRESS": "70",
        "CINDER_SERVER__MAX_STREAMS_PER_CALLER": "60",
    }
    flood = Flood(silent=300, slow_heads=100, streams=60)
    borne = await bear(tmp_path, flood, requests=12, **limits)
    assert borne.statuses == {200}
    # A busy machine refuses some of those that the limit would let in.
    assert 20 <= borne.streams <= 40
