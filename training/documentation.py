"""Pages of documentation that Debian packages, labelled by each site's own content element."""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cinder.html.tree import detach, parse_html
from cinder.html.visible_text import visible_text

_DOC = Path("/usr/share/doc")
_SEED = 1


@dataclass(frozen=True, slots=True)
class DocSite:
    """The documentation of one project, as its package installs it."""

    name: str
    package: str
    folder: Path
    content: str
    """The selector of the elements that are a page's content; the first group that matches."""
    chrome: str = ""
    """The selector of what is not content in it."""

    def find_pages(self) -> list[Path]:
        """Return the pages that are there; none where the package is not installed."""
        return sorted(path for path in self.folder.rglob("*.html") if path.is_file())

    def url_of(self, path: Path) -> str:
        """Return the address that a page has in measurements."""
        return f"http://{self.name}.example/{path.relative_to(self.folder)}"

    def read_truth(self, html: str) -> str:
        """Return the visible text of a page's content."""
        tree = parse_html(html)
        # Labels in drawings are no text that a reader could follow.
        detach(tree.css(", ".join(filter(None, ("script, style, svg, .headerlink", self.chrome)))))
        for selector in (self.content, "body"):
            if found := tree.css(selector):
                return "\n".join(map(visible_text, found))
        return ""


DOC_SITES = (
    DocSite("git", "git-doc", _DOC / "git-doc", "#header h1, #content", "#toc"),
    DocSite("django", "python-django-doc", _DOC / "python-django-doc/html", "#bd .yui-g"),
    DocSite("sqlite", "sqlite3-doc", _DOC / "sqlite3", "body", ".nosearch"),
    DocSite(
        *("postgresql", "postgresql-doc-15", _DOC / "postgresql-doc-15/html", "body"),
        chrome=".navheader, .navfooter",
    ),
    DocSite("python", "python3.11-doc", _DOC / "python3.11/html", "[role=main]"),
)


def sample_pages(site: DocSite, count: int) -> Iterator[tuple[Path, str]]:
    """Yield some pages of a site with their HTML, a third of them its largest."""
    paths = sorted(site.find_pages(), key=lambda path: path.stat().st_size)
    largest, others = paths[-(count // 3) :], paths[: -(count // 3)]
    random.Random(_SEED).shuffle(others)  # noqa: S311 - the same pages each time
    for path in (*largest, *others[: count - len(largest)]):
        yield path, path.read_text("utf-8", "replace")
