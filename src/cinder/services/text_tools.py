"""Tools that fetch nothing: facts about an HTML string, and the similarity of two texts."""

from cinder.background import run_in_thread
from cinder.html.css.selectors import is_valid_selector as is_valid_selector
from cinder.models.document import HtmlFacts
from cinder.sandbox.sandbox import ExtractionSandbox
from cinder.text.terms import text_similarity


class TextTools:
    """Answers from its arguments alone; it fetches and stores nothing."""

    def __init__(self, sandbox: ExtractionSandbox) -> None:
        self._sandbox = sandbox

    async def inspect(self, html: str, base_url: str = "") -> HtmlFacts:
        """Return facts about an HTML string.

        Raises:
            ParseLimitExceeded: it could not be parsed within the limits.
        """
        return await self._sandbox.inspect(html, base_url)

    async def check(self) -> None:
        """Check that the sandbox can parse HTML; a busy sandbox counts as working."""
        if not self._sandbox.is_busy:
            await self.inspect("<p>ready</p>")

    async def similarity(self, text_a: str, text_b: str) -> float:
        """Return the similarity of two texts' words, from 0.0 to 1.0."""
        return await run_in_thread(len(text_a) + len(text_b), text_similarity, text_a, text_b)
