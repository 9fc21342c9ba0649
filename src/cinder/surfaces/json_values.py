"""How many values a JSON text has, counted while it arrives and before it is parsed."""


class JsonValues:
    """Counts values by the commas and brackets outside of strings.

    An empty list or object counts twice; otherwise the count is exact.
    """

    def __init__(self) -> None:
        self.count = 1
        self._is_in_string = False
        self._held = b""

    def feed(self, piece: bytes) -> None:
        """Count what is in the next piece of the text."""
        # Without escapes, each quote begins or ends a string.
        piece = (self._held + piece).replace(rb"\\", b"")
        self._held = b"\\" if piece.endswith(b"\\") else b""
        parts = piece.removesuffix(b"\\").replace(rb"\"", b"").split(b'"')
        outside = b"".join(parts[int(self._is_in_string) :: 2])
        self._is_in_string ^= len(parts) % 2 == 0
        self.count += outside.count(b",") + outside.count(b"[") + outside.count(b"{")
