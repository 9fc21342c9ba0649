import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

SERVE = """
from cinder.config import read_settings
from cinder.surfaces.logs import set_up_logs
from cinder.surfaces.mcp.stdio import serve_stdio
settings = read_settings()
set_up_logs("debug")
serve_stdio(settings)
"""
MESSAGES: list[dict[str, Any]] = [
    {
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"id": 2, "method": "tools/list"},
    {
        "id": 3,
        "method": "tools/call",
        "params": {"name": "scrape", "arguments": {"url": "http://127.0.0.1:1/"}},
    },
]
LEAN = """
import sys
import cinder.surfaces.mcp.stdio
heavy = {"fastapi", "sqlalchemy", "alembic", "playwright"} & set(sys.modules)
sys.exit(", ".join(heavy) or 0)
"""


def test_stdio_answers_and_ends_with_its_input(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"CINDER_DATA_DIR": str(tmp_path)},
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        for message in MESSAGES:
            running.stdin.write(json.dumps({"jsonrpc": "2.0"} | message) + "\n")
            running.stdin.flush()
            if "id" in message:
                answer = json.loads(running.stdout.readline())
                assert (answer["jsonrpc"], answer["id"]) == ("2.0", message["id"])
        running.stdin.close()
        assert running.wait(60) == 0


def test_a_client_that_reads_no_more_ends_the_server_in_good_order(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"CINDER_DATA_DIR": str(tmp_path)},
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdin.write(json.dumps({"jsonrpc": "2.0"} | MESSAGES[0]) + "\n")
        running.stdin.flush()
        running.stdout.readline()
        running.stdout.close()
        running.stdin.write(json.dumps({"jsonrpc": "2.0"} | MESSAGES[2]) + "\n")
        running.stdin.close()
        said = running.stderr.read()
        assert running.wait(60) == 0, said
    assert "the client is gone" in said
    assert "Traceback" not in said


def test_interrupt_ends_the_server_while_it_waits(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", SERVE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={"CINDER_DATA_DIR": str(tmp_path)},
    ) as running:
        assert running.stdin is not None
        assert running.stdout is not None
        running.stdin.write(json.dumps({"jsonrpc": "2.0"} | MESSAGES[0]) + "\n")
        running.stdin.flush()
        running.stdout.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(60) == -signal.SIGINT


def test_start_loads_no_web_framework_and_no_database_toolkit() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LEAN], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stderr == ""
    assert ran.returncode == 0
