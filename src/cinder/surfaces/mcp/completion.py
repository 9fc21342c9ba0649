"""Completion: what may stand in a blank of a prompt or of a resource template."""

from collections.abc import Iterable, Mapping

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError

from cinder.app import App
from cinder.errors import CinderError
from cinder.model.caller import Scope
from cinder.model.job import JobKind
from cinder.model.saved import LATEST, SavedKind, format_timestamp
from cinder.surfaces.caller import require_scope
from cinder.surfaces.mcp.caller import caller_in
from cinder.surfaces.mcp.prompts import Prompts
from cinder.surfaces.mcp.resources import CRAWL_TEMPLATE, SAVED_TEMPLATE

MAX_VALUES = 100

_LOOKED_THROUGH = 1_000


class Completion:
    """Answers `completion/complete`."""

    def __init__(self, app: App, prompts: Prompts) -> None:
        self._app = app
        self._prompts = prompts

    async def complete(
        self, context: ServerRequestContext, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Return what begins as the given value does; nothing for a blank that takes any text.

        Raises:
            MCPError: there is no such prompt or template.
        """
        given = dict(params.context.arguments or {}) if params.context else {}
        try:
            caller = require_scope(caller_in(context), Scope.READ)
            found = await self._find(params.ref, params.argument, given, caller)
        except CinderError:
            # It only spares typing: whoever may see nothing gets nothing.
            found = []
        values = list(dict.fromkeys(found))
        completion = types.Completion(
            values=values[:MAX_VALUES], total=len(values), has_more=len(values) > MAX_VALUES
        )
        return types.CompleteResult(completion=completion)

    async def _find(
        self,
        ref: types.PromptReference | types.ResourceTemplateReference,
        argument: types.CompletionArgument,
        given: Mapping[str, str],
        caller: str,
    ) -> list[str]:
        if isinstance(ref, types.PromptReference):
            return await self._of_prompt(ref.name, argument, caller)
        if ref.uri == SAVED_TEMPLATE.uri_template:
            return await self._of_saved(argument, given, caller)
        if ref.uri == CRAWL_TEMPLATE.uri_template:
            if argument.name != "id":
                return []
            jobs = await self._app.jobs.list_jobs(caller, JobKind.CRAWL)
            return _beginning(argument.value, (job.id for job in jobs))
        templates = f"{SAVED_TEMPLATE.uri_template} and {CRAWL_TEMPLATE.uri_template}"
        raise MCPError(types.INVALID_PARAMS, f"There is no such template. There are: {templates}.")

    async def _of_prompt(
        self, name: str, argument: types.CompletionArgument, caller: str
    ) -> list[str]:
        blank = self._prompts.find(name).arguments.get(argument.name)
        if blank is None or not blank.takes_urls:
            return _beginning(argument.value, blank.choices if blank else ())
        before, _, last = argument.value.rpartition(" ")
        listed = await self._app.archive.list_saved(caller, limit=_LOOKED_THROUGH)
        urls = [listing.url for listing in listed if _is_meant(listing.url, last)]
        return [f"{before} {url}".lstrip() for url in urls]

    async def _of_saved(
        self, argument: types.CompletionArgument, given: Mapping[str, str], caller: str
    ) -> list[str]:
        archive, value = self._app.archive, argument.value
        match argument.name:
            case "page":
                places = await archive.list_places(value, caller, limit=_LOOKED_THROUGH)
                return places if "/" in value else [place.partition("/")[0] for place in places]
            case "kind":
                return _beginning(value, SavedKind)
            case "timestamp":
                versions = await archive.list_versions(
                    given.get("page", ""), caller, limit=MAX_VALUES
                )
                moments = (format_timestamp(version.saved_at) for version in versions)
                return _beginning(value, (LATEST, *moments))
            case _:
                return []


def _beginning(value: str, known: Iterable[str]) -> list[str]:
    return [str(name) for name in known if name.startswith(value)]


def _is_meant(url: str, beginning: str) -> bool:
    """Whether a URL begins so, with its scheme or without."""
    return url.startswith(beginning) or url.partition("://")[2].startswith(beginning)
