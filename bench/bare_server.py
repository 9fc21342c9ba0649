"""The least a Python server can do: read a request, answer with as many bytes as cinder would."""

import socket

import uvicorn
from starlette.types import Receive, Scope, Send

BODY = b'{"content":"' + b"x" * 30_000 + b'"}'


async def app(_scope: Scope, receive: Receive, send: Send) -> None:
    await receive()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(BODY))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": BODY})


if __name__ == "__main__":
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    config = uvicorn.Config(
        app, http="httptools", loop="asyncio", lifespan="off", access_log=False, log_level="warning"
    )
    uvicorn.Server(config).run(sockets=[listener])
