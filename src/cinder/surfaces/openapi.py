"""The OpenAPI document: what the routes take, generated from the models that read it."""

from typing import Any

from pydantic import BaseModel

from cinder.surfaces.page_arguments import PageArguments
from cinder.surfaces.scrape_arguments import ScrapeArguments

# OpenAPI documents are free-form JSON, hence Any throughout.
OpenApi = dict[str, Any]

_REF = "#/components/schemas/{model}"
_MODELS: tuple[type[BaseModel], ...] = (PageArguments, ScrapeArguments)


def json_body(model: type[BaseModel]) -> OpenApi:
    """Return the part of a route's description that says it takes this model as JSON."""
    schema = {"$ref": _REF.format(model=model.__name__)}
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}


def complete(document: OpenApi) -> OpenApi:
    """Add the models that routes refer to, and how to authenticate."""
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for model in _MODELS:
        schema = model.model_json_schema(ref_template=_REF, by_alias=True)
        schemas |= schema.pop("$defs", {})
        schemas[model.__name__] = schema
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}]
    return document
