"""The compiled modules and the plain ones, which are the same source, give the same output."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cinder
from cinder.html.main_content import trees
from hatch_build import is_wanted

# Reads the pages of the loopback website, and made ones with blocks of many kinds and scripts.
_READ_PAGES = """
import hashlib, random, sys
from pathlib import Path
from cinder.documents.page_content import extract_content
from cinder.html.main_content import trees
from cinder.models.request import ContentOptions, ExtractOptions

def blocks(chance):
    words = "ember Kohle \u043a\u043e\u0441 \u708e kettle, glow. ash! stone? 12 $4.50".split()
    def text(most):
        return " ".join(chance.choice(words) for _ in range(chance.randint(1, most)))
    kinds = (
        lambda: f"<p>{text(60)}</p>",
        lambda: f"<h{chance.randint(1, 4)}>{text(8)}</h2>",
        lambda: f"<ul id=menu>{''.join(f'<li><a href={n}>{text(4)}</a>' for n in range(9))}</ul>",
        lambda: f"<table>{''.join(f'<tr><td>{text(5)}<td>{text(3)}' for _ in range(5))}</table>",
        lambda: f"<pre><code>{text(30)}</code></pre>",
        lambda: f"<figure><img src=/a.png><figcaption>{text(9)}</figcaption></figure>",
        lambda: f"<div class='card item'><a href=/x><h3>{text(5)}</h3></a>{text(20)}</div>",
        lambda: f"<aside id=related>{text(30)}<br>{text(9)}</aside>",
        lambda: f"<p>{text(9)}<a href='#n1'>1</a></p><div id=n1>{text(12)}</div>",
    )
    return "".join(chance.choice(kinds)() for _ in range(chance.randint(1, 60)))

def pages():
    for number in range(150):
        chance = random.Random(number)
        tag = chance.choice(("main", "article", "div", "section role=main"))
        title = "<meta property=og:type content=article>" if number % 3 else ""
        yield (
            f"<!doctype html><title>A page</title>{title}<nav>{blocks(chance)}</nav>"
            f"<{tag}>{blocks(chance)}</{tag.split()[0]}><footer>{blocks(chance)}</footer>"
        ).encode()
    for file in sorted(Path(sys.argv[1]).rglob("*.html")):
        yield file.read_bytes()

options = ExtractOptions(content=ContentOptions(only_main_content=True))
for page in pages():
    read = extract_content(page, content_type="text/html", url="https://a.test/", options=options)
    print(hashlib.sha256(repr(read).encode("utf-8", "replace")).hexdigest())
print(trees.__file__, file=sys.stderr)
"""


# Where there is a compiler, plain modules are a failed build, unless they were asked for.
@pytest.mark.skipif(
    trees.__file__.endswith(".py") and (shutil.which("cc") is None or not is_wanted()),
    reason="no compiled modules are installed",
)
def test_compiled_modules_give_what_the_plain_ones_give(tmp_path: Path) -> None:
    source = Path(cinder.__file__).parent
    shutil.copytree(
        source, tmp_path / "cinder", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    )

    compiled, compiled_file = read_pages(source.parent)
    plain, plain_file = read_pages(tmp_path)

    assert not compiled_file.endswith(".py")
    assert plain_file.endswith(".py")
    assert len(compiled) > 150
    assert compiled == plain


def read_pages(path: Path) -> tuple[list[str], str]:
    """Return a digest of what is read from each page, and the file of one of the modules."""
    site = Path(__file__).parents[2] / "site"
    done = subprocess.run(
        [sys.executable, "-c", _READ_PAGES, str(site)],
        env={**os.environ, "PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.split(), done.stderr.strip()
