"""Messages of the sandbox about the fields of a schema, passages and recipes.

They are apart from the others because most child processes get none, and start faster without.
"""

from collections.abc import Mapping

from cinder.models.document import Json
from cinder.models.extraction import FieldValue, PassageQuery
from cinder.models.recipe import Recipe
from cinder.sandbox.messages import SandboxJob


class PassagesJob(SandboxJob, frozen=True):
    """Rank the passages of a text by a question."""

    kind = "passages"

    markdown: str
    query: PassageQuery
    limit: int


class FieldsJob(SandboxJob, frozen=True):
    """Find values for the fields of a schema in a saved page.

    `text` is None where the page is not text, such as a PDF.
    """

    kind = "fields"

    text: str | None
    markdown: str | None
    content_type: str
    url: str
    schema: Mapping[str, Json]


class TryRecipesJob(SandboxJob, frozen=True):
    """Find values for the fields of a schema in a saved page, by recipes first."""

    kind = "try-recipes"

    text: str
    markdown: str | None
    content_type: str
    url: str
    schema: Mapping[str, Json]
    recipes: tuple[Recipe, ...]


class LearnRecipeJob(SandboxJob, frozen=True):
    """Derive the rules by which a saved page yields the given values."""

    kind = "learn-recipe"

    text: str
    markdown: str | None
    content_type: str
    url: str
    schema: Mapping[str, Json]
    values: tuple[FieldValue, ...]


EXTRACTION_JOBS: Mapping[str, type[SandboxJob]] = {
    job.kind: job for job in (PassagesJob, FieldsJob, TryRecipesJob, LearnRecipeJob)
}
