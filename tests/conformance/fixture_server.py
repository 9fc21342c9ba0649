"""Cinder's own server with the suite's fixtures added: the same factory, other parts."""

from mcp.server.lowlevel import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity

from cinder.app.composition import App
from cinder.mcp.server import TOOLS, RequestHandlers, Tasks, assemble_server
from tests.conformance.fixture_resources import (
    FixtureCompletion,
    FixturePrompts,
    FixtureResources,
    FixtureWatch,
)
from tests.conformance.fixture_tools import FixtureTools


def build_with_fixtures(app: App) -> Server:
    tools, watch, prompts = FixtureTools(app, TOOLS), FixtureWatch(app), FixturePrompts()
    tools.add(watch)
    parts = RequestHandlers(
        tools=tools,
        resources=FixtureResources(app, app.settings.server.result_max_chars_ceiling),
        prompts=prompts,
        completion=FixtureCompletion(app, prompts),
        subscriptions=watch,
        tasks=Tasks(app, tools),
    )
    server = assemble_server(parts)
    # Cinder keeps no state in its clients; the suite's fixtures do.
    boundary = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience="cinder")
    server.middleware.append(boundary)
    return server
