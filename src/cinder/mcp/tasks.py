"""MCP tasks: crawls and batches as task handles, for clients with the tasks extension.

A task is the job itself: it is kept in the database, and outlives client and server. All other
clients get the job's id, and ask for its status with a tool.
"""

from datetime import UTC, datetime
from typing import Any

import mcp_types as types
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import MCP_NAME_HEADER, decode_header_value
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import Field

from cinder.api.requests import require_scope
from cinder.api.schemas.scrape import Command
from cinder.app import App
from cinder.errors import CinderError
from cinder.mcp.request_context import caller_in
from cinder.mcp.tool_calls import ToolCalls
from cinder.mcp.tools.crawl import CRAWL_STATUS
from cinder.mcp.tools.scrape import SCRAPE
from cinder.models.caller import Caller, TokenScope
from cinder.models.document import Json
from cinder.models.job import Job, JobKind, JobStatus
from cinder.models.saved import format_timestamp

EXTENSION = "io.modelcontextprotocol/tasks"

_POLL_MS = 2_000
_STATUS = {JobStatus.QUEUED: "working", JobStatus.RUNNING: "working"}

Context = ServerRequestContext[Any, Any]  # Any: as the SDK leaves it


class TaskParams(types.RequestParams):
    """Which task a request is about."""

    task_id: str = Field(alias="taskId", max_length=200)


class Tasks:
    """Answers `tools/call` where that starts a job, and the `tasks/…` requests."""

    def __init__(self, app: App, tools: ToolCalls) -> None:
        self._app = app
        self._tools = tools

    async def call(self, context: Context, params: types.CallToolRequestParams) -> HandlerResult:
        """Answer a call; with a task where it started a job for a client that knows tasks."""
        result = await self._tools.call(context, params)
        job_id = _started_job_id(params, result)
        if job_id is None or not _supports_tasks(context):
            return result
        job = await self._find(job_id, caller_in(context))
        return {"resultType": "task", **_describe_task(job)}

    async def get(self, context: Context, params: TaskParams) -> dict[str, Any]:
        """Return how far a task is; when it is over, with its result.

        Raises:
            MCPError: there is no such task, or the client has not declared to know them.
        """
        caller = _require_tasks(context, params, TokenScope.READ)
        job = await self._find(params.task_id, caller)
        answer: dict[str, Any] = {"resultType": "complete", **_describe_task(job)}
        if job.status is JobStatus.COMPLETED:
            answer["result"] = await self._result(job, caller)
        elif job.status is JobStatus.FAILED:
            answer["error"] = {"code": types.INTERNAL_ERROR, "message": job.error or "It failed"}
        return answer

    async def cancel(self, context: Context, params: TaskParams) -> dict[str, Any]:
        """Stop a task; one that is over stays as it is.

        Raises:
            MCPError: there is no such task, or the client may not stop it.
        """
        job = await self._find(params.task_id, _require_tasks(context, params, TokenScope.CRAWL))
        await self._app.jobs.cancel(job)
        return {"resultType": "complete"}

    async def update(self, context: Context, params: TaskParams) -> dict[str, Any]:
        """Take note of answers to a task's questions, of which these tasks never have any.

        Raises:
            MCPError: there is no such task, or the client has not declared to know them.
        """
        await self._find(params.task_id, _require_tasks(context, params, TokenScope.READ))
        return {"resultType": "complete"}

    async def _find(self, job_id: str, caller: Caller) -> Job:
        kind = JobKind.CRAWL if job_id.startswith(JobKind.CRAWL) else JobKind.BATCH
        try:
            return await self._app.jobs.find(job_id, kind, caller.id)
        except CinderError as error:
            raise MCPError(types.INVALID_PARAMS, error.message) from None

    async def _result(self, job: Job, caller: Caller) -> dict[str, Any]:
        if job.kind is JobKind.CRAWL:
            result = await CRAWL_STATUS.call(self._app, {"id": job.id}, caller)
        else:
            asking = {"command": Command.STATUS, "jobId": job.id, "includeContent": True}
            result = await SCRAPE.call(self._app, asking, caller)
        return result.model_dump(by_alias=True, mode="json", exclude_none=True)


def _started_job_id(
    params: types.CallToolRequestParams, result: types.CallToolResult | types.InputRequiredResult
) -> str | None:
    """Return the job that a call has started; None where it has started none."""
    data = result.structured_content if isinstance(result, types.CallToolResult) else None
    if not isinstance(data, dict) or data.get("status") not in ("queued", "running", "scraping"):
        return None
    if params.name == "cinder_crawl":
        return data.get("crawlId")
    is_start = (params.arguments or {}).get("command", Command.START) == Command.START
    return data.get("jobId") if params.name == "scrape" and is_start else None


def _describe_task(job: Job) -> dict[str, Json]:
    left = job.expires_at - datetime.now(UTC)
    changed = job.finished_at or job.started_at or job.created_at
    return {
        "taskId": job.id,
        "status": _STATUS.get(job.status, str(job.status)),
        "createdAt": format_timestamp(job.created_at),
        "lastUpdatedAt": format_timestamp(changed),
        "ttlMs": max(0, int(left.total_seconds() * 1000)),
        "pollIntervalMs": _POLL_MS,
    }


def _supports_tasks(context: Context) -> bool:
    capabilities = context.session.client_capabilities
    is_modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
    return is_modern and EXTENSION in ((capabilities and capabilities.extensions) or {})


def _require_tasks(context: Context, params: TaskParams, scope: TokenScope) -> Caller:
    if not _supports_tasks(context):
        data: dict[str, Any] = {"requiredCapabilities": {"extensions": {EXTENSION: {}}}}
        message = f"Declare the extension {EXTENSION} to use tasks"
        raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, message, data)
    _require_name(context, params.task_id)
    caller = caller_in(context)
    try:
        require_scope(caller, scope)
    except CinderError as error:
        raise MCPError(types.INVALID_PARAMS, error.message) from None
    return caller


def _require_name(context: Context, task_id: str) -> None:
    """Refuse a request whose header names another task, as the SDK does for its own methods.

    Whoever stands between client and server may have let it through by its header alone.
    """
    if context.request is None:
        return
    if decode_header_value(context.request.headers.get(MCP_NAME_HEADER)) != task_id:
        message = f"The {MCP_NAME_HEADER} header is not the request's 'taskId'"
        raise MCPError(types.HEADER_MISMATCH, message)
