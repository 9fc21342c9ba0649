"""Settings of the language model, and of extraction."""

from typing import Literal, Self

from pydantic import Field, model_validator

from cinder.config.section import OptionalSecret, OptionalText, Section


class LlmSettings(Section):
    """The language model, if there is one."""

    base_url: OptionalText = None
    """Where it is asked, such as `http://127.0.0.1:11434/v1`; it may be a private address. When
    absent, no model is used. See `docs/language-models.md`."""
    api_key: OptionalSecret = None
    """The key that it wants, if it wants one."""
    model: OptionalText = None
    """The model's name there."""
    protocol: Literal["openai", "anthropic"] = "openai"
    """How it is spoken to: OpenAI's chat completions, or Anthropic's messages."""
    timeout_seconds: float = Field(120, gt=0)
    """How long one call may take."""
    max_retries: int = Field(2, ge=0)
    """How often a call is tried again after 429, 5xx or a connection error."""
    retry_wait_max_seconds: float = Field(20, ge=0)
    """The longest wait before a retry; a Retry-After beyond it is not waited for."""
    max_concurrency: int = Field(4, ge=1)
    """Calls that one process makes at once; further ones wait."""
    max_output_tokens: int = Field(4096, ge=16)
    """Tokens that one answer may have; a model that thinks aloud first needs more."""
    max_calls: int = Field(20, ge=1)
    """Calls that one request may take."""
    max_tokens: int = Field(200_000, ge=1)
    """Tokens, sent and received, after which one request makes no further call."""
    max_seconds: float = Field(300, gt=0)
    """How long all calls of one request may take."""
    chunk_tokens: int = Field(6_000, ge=200)
    """Tokens of a page, by estimate, that one call carries; fewer where the model reads fewer."""

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.base_url is not None and self.model is None:
            raise ValueError(
                "A language model needs its name: set model (CINDER_LLM__MODEL), such as qwen3:8b"
            )
        if self.base_url is None and (self.model is not None or self.api_key is not None):
            raise ValueError(
                "A language model needs its address: set base-url (CINDER_LLM__BASE_URL), such as "
                "http://127.0.0.1:11434/v1"
            )
        return self


class ExtractSettings(Section):
    """Extraction: data from pages, with proof."""

    max_urls: int = Field(10, ge=1, le=100)
    """Pages that one extraction may be about."""
    max_output_bytes: int = Field(1_000_000, ge=1_000)
    """The most data that one extraction returns; the rest is left out, and said so."""
    max_concurrency: int = Field(12, ge=1)
    """Pages that all extractions together fetch at once; further ones wait."""
    held_values: int = Field(20_000, ge=0)
    """Values that the process keeps of what it found, lest the same is looked for again."""
    recipes: bool = True
    """Whether where a site's pages hold a schema's values is learned, and tried first next time."""
    recipe_max_failures: int = Field(3, ge=1)
    """Pages in a row on which a recipe may miss before it is dropped."""
    max_recipes: int = Field(10_000, ge=1)
    """Recipes that are kept; beyond, the longest unused go."""
    recipe_days: int = Field(90, ge=1)
    """Days after which a recipe goes that was not tried."""
