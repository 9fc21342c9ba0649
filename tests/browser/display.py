"""A display that nobody sees, and the hand that closes windows on it."""

import os
import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

_INTERN_ATOM, _QUERY_TREE, _GET_PROPERTY, _SEND_EVENT = 16, 15, 20, 25
_CLIENT_MESSAGE = 33
_REPLY_BYTES = 32


@dataclass(frozen=True, slots=True)
class Display:
    """A running X server."""

    number: int

    @property
    def name(self) -> str:
        return f":{self.number}"

    def close_windows(self) -> int:
        """Ask every window to close, as a click on its cross does; return how many there were."""
        with _Client(self.number) as client:
            protocols, closing = client.atom("WM_PROTOCOLS"), client.atom("WM_DELETE_WINDOW")
            windows = [w for w in client.windows() if closing in client.atoms(w, protocols)]
            for window in windows:
                client.send_message(window, protocols, closing)
            client.windows()  # answered once all before it was taken in
        return len(windows)


@contextmanager
def open_display() -> Iterator[Display]:
    """Run an X server that only this machine can reach."""
    read_fd, write_fd = os.pipe()
    line = ["Xvfb", "-displayfd", str(write_fd), "-screen", "0", "1280x800x24"]
    with subprocess.Popen(
        [*line, "-nolisten", "tcp"], pass_fds=[write_fd], stderr=subprocess.DEVNULL
    ) as server:
        os.close(write_fd)
        try:
            with os.fdopen(read_fd) as numbers:
                yield Display(int(numbers.readline()))
        finally:
            server.terminate()


class _Client:
    """As much of the X protocol as closing a window takes."""

    def __init__(self, number: int) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(f"/tmp/.X11-unix/X{number}")
        self._socket.sendall(struct.pack("<BxHHHHxx", ord("l"), 11, 0, 0, 0))
        accepted, length = struct.unpack("<B5xH", self._read(8))
        assert accepted == 1
        setup = self._read(length * 4)
        vendor_bytes, formats = struct.unpack_from("<16xHxxxB", setup)[0], setup[21]
        screen = 32 + (vendor_bytes + 3) // 4 * 4 + formats * 8
        self._root: int = struct.unpack_from("<I", setup, screen)[0]

    def __enter__(self) -> "_Client":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def atom(self, name: str) -> int:
        padded = name.encode().ljust((len(name) + 3) // 4 * 4, b"\0")
        head = struct.pack("<BxHHxx", _INTERN_ATOM, 2 + len(padded) // 4, len(name))
        number: int = struct.unpack_from("<I", self._ask(head + padded), 8)[0]
        return number

    def windows(self) -> list[int]:
        reply = self._ask(struct.pack("<BxHI", _QUERY_TREE, 2, self._root))
        count = struct.unpack_from("<H", reply, 16)[0]
        return list(struct.unpack_from(f"<{count}I", reply, _REPLY_BYTES))

    def atoms(self, window: int, name: int) -> list[int]:
        reply = self._ask(struct.pack("<BxHIIIII", _GET_PROPERTY, 6, window, name, 0, 0, 100))
        if reply[0] != 1:  # the window is gone
            return []
        count = struct.unpack_from("<I", reply, 16)[0]
        return list(struct.unpack_from(f"<{count}I", reply, _REPLY_BYTES))

    def send_message(self, window: int, name: int, value: int) -> None:
        event = struct.pack("<BBHIII16x", _CLIENT_MESSAGE, 32, 0, window, name, value)
        self._socket.sendall(struct.pack("<BxHII", _SEND_EVENT, 11, window, 0) + event)

    def _ask(self, request: bytes) -> bytes:
        self._socket.sendall(request)
        reply = self._read(_REPLY_BYTES)
        more: int = struct.unpack_from("<I", reply, 4)[0] if reply[0] == 1 else 0
        return reply + self._read(more * 4)

    def _read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self._socket.recv(count - len(data))
            assert part, "the display is gone"
            data += part
        return data
