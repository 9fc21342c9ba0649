"""The resources and prompts that the conformance suite asks for by name."""

import json
import re
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext

from cinder.mcp.prompts import Completion, Prompts
from cinder.mcp.resources import Resources, ResourceSubscriptions
from tests.conformance.fixture_content import IMAGE, PICTURE, ask_in_result, asked_form, embedded

Context = ServerRequestContext[Any, Any]  # Any: as the SDK leaves it

WATCHED = "test://watched-resource"


class FixtureResources(Resources):
    """Cinder's resources, and those of the suite."""

    async def list_saved(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        own = await super().list_saved(context, params)
        added = [
            types.Resource(uri=uri, name=uri)
            for uri in ("test://static-text", "test://static-binary")
        ]
        return types.ListResourcesResult(resources=[*added, *own.resources])

    async def list_templates(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        own = await super().list_templates(context, params)
        added = types.ResourceTemplate(name="test", uri_template="test://template/{id}/data")
        return types.ListResourceTemplatesResult(
            resource_templates=[*own.resource_templates, added]
        )

    async def read(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        if contents := _contents(params.uri):
            return types.ReadResourceResult(contents=[contents])
        return await super().read(context, params)


def _contents(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    if uri == "test://static-text":
        text = "This is the content of the static text resource."
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    if uri == "test://static-binary":
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PICTURE)
    if found := re.fullmatch(r"test://template/(\w+)/data", uri):
        data = {"id": found[1], "templateTest": True, "data": f"Data for ID: {found[1]}"}
        return types.TextResourceContents(
            uri=uri, mime_type="application/json", text=json.dumps(data)
        )
    return None


class FixtureWatch(ResourceSubscriptions):
    """Cinder's subscriptions, and one to a resource of the suite, which never changes."""

    async def subscribe(
        self, context: Context, params: types.SubscribeRequestParams
    ) -> types.EmptyResult:
        is_own = params.uri != WATCHED
        return await super().subscribe(context, params) if is_own else types.EmptyResult()


class FixturePrompts(Prompts):
    """Cinder's prompts, and those of the suite."""

    async def list_prompts(
        self, context: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListPromptsResult:
        own = await super().list_prompts(context, params)
        arguments = {
            "test_simple_prompt": (),
            "test_prompt_with_arguments": ("arg1", "arg2"),
            "test_prompt_with_embedded_resource": ("resourceUri",),
            "test_prompt_with_image": (),
            "test_input_required_result_prompt": (),
        }
        added = [
            types.Prompt(
                name=prompt,
                description="For the suite",
                arguments=[types.PromptArgument(name=name, required=True) for name in names],
            )
            for prompt, names in arguments.items()
        ]
        return types.ListPromptsResult(prompts=[*own.prompts, *added])

    async def get(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        given = params.arguments or {}
        match params.name:
            case "test_simple_prompt":
                return _say("This is a simple prompt for testing.")
            case "test_prompt_with_arguments":
                shown = ", ".join(f"{name}='{given[name]}'" for name in ("arg1", "arg2"))
                return _say(f"Prompt with arguments: {shown}")
            case "test_prompt_with_embedded_resource":
                text = "Embedded resource content for testing."
                resource = embedded(given["resourceUri"], "text/plain", text)
                return _say("Please process the embedded resource above.", resource)
            case "test_prompt_with_image":
                return _say("Please analyze the image above.", IMAGE)
            case "test_input_required_result_prompt":
                return _ask_context(params)
            case _:
                return await super().get(context, params)


def _ask_context(
    params: types.GetPromptRequestParams,
) -> types.GetPromptResult | types.InputRequiredResult:
    told = (params.input_responses or {}).get("user_context")
    if not isinstance(told, types.ElicitResult):
        question = "What context should the prompt use?"
        return ask_in_result(
            {"user_context": asked_form(question, {"context": {"type": "string"}})}
        )
    return _say(f"The context is {told.content}")


def _say(text: str, *before: types.EmbeddedResource | types.ImageContent) -> types.GetPromptResult:
    blocks: list[types.ContentBlock] = [*before, types.TextContent(text=text)]
    messages = [types.PromptMessage(role="user", content=block) for block in blocks]
    return types.GetPromptResult(messages=messages)


class FixtureCompletion(Completion):
    """Cinder's completions, and those of the suite's prompt."""

    async def complete(
        self, context: Context, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        ref = params.ref
        if isinstance(ref, types.PromptReference) and ref.name == "test_prompt_with_arguments":
            return types.CompleteResult(completion=types.Completion(values=["testing"], total=1))
        return await super().complete(context, params)
