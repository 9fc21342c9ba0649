from pathlib import Path

import pytest

from tests.contract.running import Effort, run_schemathesis
from tests.contract.serving import serve_contract
from tests.site import Site

# The bounds and types of the fields alone make about 2,000 requests; `make soak` sends more.
_EFFORT = Effort(examples=3)


@pytest.mark.timeout(600)
def test_every_operation_keeps_to_the_openapi_document(site: Site, tmp_path: Path) -> None:
    with serve_contract(tmp_path, site) as server:
        verdict = run_schemathesis(server, tmp_path, _EFFORT)
    assert verdict.has_passed, verdict.report
    assert verdict.tested == verdict.operations >= 27
    assert verdict.cases > 1_000
