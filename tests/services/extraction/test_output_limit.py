"""Data has a limit of size."""

import json

from cinder.services.extraction.output_limit import cut_to_size
from tests.services.extraction.findings import findings, value


def test_what_fits_is_left_alone() -> None:
    found = findings(value(("name",), "Kettle"))
    assert cut_to_size(found, 1_000) is found


def test_what_is_beyond_is_left_out_item_by_item_and_said() -> None:
    items = [
        value(("wares", n, name), f"{name} {n} {'é' * 20}")
        for n in range(100)
        for name in ("name", "maker")
    ]
    cut = cut_to_size(findings(*items), 2_000)
    assert isinstance(cut.data, dict)
    assert len(json.dumps(cut.data, ensure_ascii=False).encode()) <= 2_000
    wares = cut.data["wares"]
    assert isinstance(wares, list)
    assert all(isinstance(ware, dict) and len(ware) == 2 for ware in wares)
    assert len(wares) > 5
    assert f"Only {2 * len(wares)} of 200 values" in cut.warnings[0]
