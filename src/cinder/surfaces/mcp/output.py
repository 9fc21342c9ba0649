"""What tools answer: the base of the models that their output schemas are made of."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class Output(BaseModel):
    """Structured content, spelled in camelCase on the wire."""

    model_config = ConfigDict(alias_generator=to_camel)
