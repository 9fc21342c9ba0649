"""Many requests that schemathesis makes up, held against the OpenAPI document."""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.contract.running import Effort, run_schemathesis
from tests.contract.serving import serve_contract
from tests.site import serve_site


def soak_contract(examples: int, say: Callable[[str], None]) -> list[str]:
    """Make up so many requests for each operation; return what went wrong."""
    with (
        tempfile.TemporaryDirectory() as folder,
        serve_site() as site,
        serve_contract(Path(folder), site) as server,
    ):
        effort = Effort(examples=examples, seed=int(time.time()), may_render=True)
        verdict = run_schemathesis(server, Path(folder), effort)
    say(f"OpenAPI: {verdict.cases} requests to {verdict.tested} operations, seed {effort.seed}")
    return [] if verdict.has_passed else [verdict.report]
