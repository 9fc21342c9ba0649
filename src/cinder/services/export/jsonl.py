"""JSONL: one JSON object a line for each page."""

import base64
import json
from collections.abc import Sequence

from cinder.model.document import Json
from cinder.services.export.pages import ExportedPage, describe_page
from cinder.services.export.request import ExportRequest, Extra


class JsonlEncoder:
    """Writes pages as lines of JSON. See `cinder.services.export.base.Encoder`."""

    def __init__(self, request: ExportRequest) -> None:
        self._include = request.include

    def begin(self) -> bytes:
        """Return nothing: every line stands for itself."""
        return b""

    def add(self, pages: Sequence[ExportedPage]) -> bytes:
        """Return the lines of some pages."""
        return b"".join(self._line(page) for page in pages)

    def end(self) -> bytes:
        """Return nothing."""
        return b""

    def _line(self, page: ExportedPage) -> bytes:
        line = json.dumps(describe_page(page) | self._bodies(page), ensure_ascii=False)
        return line.encode() + b"\n"

    def _bodies(self, page: ExportedPage) -> dict[str, Json]:
        bodies: dict[str, Json] = {"markdown": page.markdown}
        if Extra.HTML in self._include:
            bodies["html"] = page.html
        if Extra.RAW in self._include:
            bodies |= _raw(page.raw)
        return bodies


def _raw(raw: str | bytes | None) -> dict[str, Json]:
    if isinstance(raw, bytes):
        return {"raw": base64.b64encode(raw).decode(), "rawEncoding": "base64"}
    return {"raw": raw, "rawEncoding": None if raw is None else "text"}
