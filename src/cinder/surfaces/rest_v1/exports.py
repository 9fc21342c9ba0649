"""Exports over /v1: the pages of a job as one stream of JSONL, WARC or Parquet."""

from collections.abc import AsyncIterator
from typing import Annotated

from pydantic import BeforeValidator, Field
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from cinder.app import App
from cinder.model.caller import Scope
from cinder.model.job import JobKind
from cinder.services.export import ExportFormat, ExportRequest, read_request
from cinder.surfaces.arguments import Arguments, Flag, read_arguments
from cinder.surfaces.caller import caller_for


def _split(value: object) -> object:
    return [word for word in value.split(",") if word] if isinstance(value, str) else value


class ExportArguments(Arguments):
    """What of a job to export."""

    format: str = ExportFormat.JSONL.value
    """`jsonl`, `warc` or `parquet`."""
    include: Annotated[list[str], BeforeValidator(_split)] = Field(default_factory=list)
    """What else of each page: `html`, `raw`, or both with a comma between."""
    include_errors: Flag = False
    """Also the URLs that could not or must not be fetched, with their fate and reason."""

    def to_request(self) -> ExportRequest:
        """Return what is asked for.

        Raises:
            InvalidRequest: a word is not known.
        """
        return read_request(self.format, self.include, include_errors=self.include_errors)


async def export_job(kind: JobKind, app: App, request: Request) -> Response:
    """Stream a job's pages."""
    wanted = read_arguments(ExportArguments, dict(request.query_params)).to_request()
    caller = caller_for(request, Scope.READ)
    job = await app.jobs.find(str(request.path_params["id"]), kind, caller)
    name = f"{job.id}{wanted.format.suffix}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    if request.method == "HEAD":
        return Response(media_type=wanted.format.media_type, headers=headers)
    chunks = aiter(app.exporter.export(job, wanted))
    # What is wrong at the start can still be said; later, the stream can only break.
    first = await anext(chunks, b"")
    return StreamingResponse(
        _with_first(first, chunks), media_type=wanted.format.media_type, headers=headers
    )


async def _with_first(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for chunk in rest:
        yield chunk
