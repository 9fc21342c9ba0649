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


class SavedPageJob(SandboxJob, frozen=True):
    """A job about the fields of a schema in a saved page."""

    text: str | None
    """The page as received, decoded; None where it is not text, such as a PDF."""
    markdown: str | None
    content_type: str
    """The whole Content-Type header, empty when there was none."""
    url: str
    schema: Mapping[str, Json]


class FieldsJob(SavedPageJob, frozen=True):
    """Find values for the fields."""

    kind = "fields"


class TryRecipesJob(SavedPageJob, frozen=True):
    """Find values for the fields, by the first recipe that holds where there is one."""

    kind = "try-recipes"

    recipes: tuple[Recipe, ...]


class LearnRecipeJob(SavedPageJob, frozen=True):
    """Derive the rules by which the page yields the proved ones of the given values."""

    kind = "learn-recipe"

    values: tuple[FieldValue, ...]


EXTRACTION_JOBS: Mapping[str, type[SandboxJob]] = {
    job.kind: job for job in (PassagesJob, FieldsJob, TryRecipesJob, LearnRecipeJob)
}
