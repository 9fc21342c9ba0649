"""Reading by query: how often the passages of a long manual page hold the answer to a question.

Beside it plain BM25 over chunks of 800 characters, on the same text.
"""

import math
import os
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from bench.contestant import ROOT
from cinder.documents.page_content import extract_content
from cinder.models.request import ContentOptions, ExtractOptions
from cinder.services.excerpt import TextWindow, chars_of_tokens
from cinder.services.reading import read_markdown

BARS = {500: 0.85, 1_000: 0.92, 2_000: 0.96}
_CHUNK_CHARS = 800
_DOCS = Path("/usr/share/doc")
# By the site's name: the Debian package, and the folder of its pages.
_SITES = {
    "python": ("python3.11-doc", _DOCS / "python3.11/html"),
    "django": ("python-django-doc", _DOCS / "python-django-doc/html"),
    "git": ("git-doc", _DOCS / "git/html"),
    "postgresql": ("postgresql-doc-15", _DOCS / "postgresql-doc-15/html"),
    "sqlite": ("sqlite3-doc", _DOCS / "sqlite3"),
}
_LINK = re.compile(r"!?\[([^\[\]]*)\]\(<?[^()\s]*(?:\([^()]*\)[^()\s]*)*>?\)")
_MARKS = re.compile(r"[\\*`]")
_WORD = re.compile(r"\w+")

Question = Mapping[str, str | list[str]]
Read = Callable[[str, str, int], str]


async def bench_reading() -> None:
    """Print the share of questions whose answer is in the passages, by the tokens asked for."""
    missing = sorted({package for package, folder in _SITES.values() if not folder.exists()})
    if missing and not _install(missing):
        print(f"reading: not measured; as root, apt-get install {' '.join(missing)}")
        return
    halves = tomllib.loads((ROOT / "bench/reading_questions.toml").read_text())
    for half, questions in halves.items():
        pages = len({question["page"] for question in questions})
        print(f"reading: {len(questions)} questions on {pages} pages ({half} half)")
        for is_main in (False, True):
            for name, read in (("cinder", _read_passages), ("BM25 chunks", _read_chunks)):
                shares = [_share(questions, read, tokens, is_main=is_main) for tokens in BARS]
                content = "main content" if is_main else "whole page"
                figures = "/".join(f"{share:.3f}" for share in shares)
                print(f"reading: {half} half, {content:<12} {name:<11} {figures}")
    bars = "/".join(f"{bar:.2f}" for bar in BARS.values())
    print(f"reading: at {'/'.join(map(str, BARS))} tokens; bars on the second half {bars}")


def _install(packages: Sequence[str]) -> bool:
    if os.geteuid() != 0:
        return False
    print(f"reading: installing {' '.join(packages)}", flush=True)
    command = ["apt-get", "install", "-y", "-q", "--no-install-recommends", *packages]
    # Images of containers often leave documentation out.
    command[1:1] = ["-o", "Dpkg::Options::=--path-include=/usr/share/doc/*"]
    return subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode == 0


def _share(questions: Sequence[Question], read: Read, tokens: int, *, is_main: bool) -> float:
    answered = 0
    for question in questions:
        text = _markdown_of(str(question["page"]), is_main=is_main)
        shown = _normalise(read(text, str(question["ask"]), chars_of_tokens(tokens)))
        answered += all(_normalise(part) in shown for part in question["answer"])
    return answered / len(questions)


@cache
def _markdown_of(page: str, *, is_main: bool) -> str:
    site, _, path = page.partition("/")
    body = (_SITES[site][1] / f"{path}.html").read_bytes()
    options = ExtractOptions(content=ContentOptions(only_main_content=is_main))
    url = f"https://docs.example/{path}.html"
    return extract_content(body, content_type="text/html", url=url, options=options).markdown or ""


def _normalise(text: str) -> str:
    text = _MARKS.sub("", _LINK.sub(r"\1", text)).replace("\u2019", "'")
    return " ".join(text.casefold().split())


def _read_passages(text: str, query: str, max_chars: int) -> str:
    return read_markdown(text, TextWindow(0, max_chars, query=query)).excerpt.text


def _read_chunks(text: str, query: str, max_chars: int) -> str:
    chunks, counts = _chunks_of(text)
    words = [word.lower() for word in _WORD.findall(query)]
    lengths = [count.total() for count in counts]
    mean = sum(lengths) / (len(lengths) or 1)
    rarity = {word: _rarity(len(counts), sum(word in count for count in counts)) for word in words}

    def score(index: int) -> float:
        count, relative = counts[index], 0.25 + 0.75 * lengths[index] / mean
        return sum(rarity[w] * count[w] * 2.2 / (count[w] + 1.2 * relative) for w in words)

    best = sorted(range(len(chunks)), key=score, reverse=True)
    return "\n".join(chunks[index] for index in best[: max_chars // _CHUNK_CHARS + 1])[:max_chars]


@cache
def _chunks_of(text: str) -> tuple[list[str], list[Counter[str]]]:
    chunks = [text[start : start + _CHUNK_CHARS] for start in range(0, len(text), _CHUNK_CHARS)]
    return chunks, [Counter(word.lower() for word in _WORD.findall(chunk)) for chunk in chunks]


def _rarity(total: int, having: int) -> float:
    return math.log(1 + (total - having + 0.5) / (having + 0.5))
