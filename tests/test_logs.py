"""The lines that cinder logs."""

import json
import subprocess
import sys

SECRET = "hunter2-s3cr3t"

PROGRAM = f"""
import logging, structlog
from cinder.logs import configure_logs
configure_logs("debug")
log = structlog.get_logger()
log.info("page beyond the limits", url="http://a.example/x?token={SECRET}&page=2")
log.debug("headers", headers={{"Cookie": "{SECRET}", "Accept": "*/*"}})
try:
    raise ValueError("http://user:{SECRET}@proxy.example:8080 refused")
except ValueError:
    log.exception("failed")
    logging.getLogger("library").exception("refused Bearer {SECRET}")
"""


def test_no_line_holds_a_secret_nor_does_a_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True
    )
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert SECRET not in done.stderr
    assert lines[0]["url"] == "http://a.example/x?token=…&page=2"
    assert lines[1]["headers"] == {"Cookie": "…", "Accept": "*/*"}
    assert lines[2]["exception"][0]["exc_value"] == "http://…@proxy.example:8080 refused"
    assert lines[3]["event"] == "refused Bearer …"
