"""A website whose text appears only once a page's script has run and fetched its data.

No page shares a script or an image with another, as pages of a hundred websites would not: what a
browser keeps from one page does not help it with the next.
"""

import asyncio
import json
import random
import struct
import zlib
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from bench.serving import Resource, Website, run_module, serve

WORDS = ("ember", "ash", "coal", "kindling", "hearth", "smoke", "flame", "oak", "birch", "glow")
SCRIPT_BYTES = 100_000
TEXT_BYTES = 10_000
IMAGES = 6
IMAGE_WIDTH, IMAGE_HEIGHT = 96, 64
CARDS = 40
DATA_DELAY_SECONDS = 0.1
RENDER_DELAY_MS = 50

STYLE = "".join(
    f".c{number}{{color:#{number:03x};margin:{number % 7}px;padding:{number % 5}px}}"
    f".c{number}>a:hover{{text-decoration:underline}}"
    for number in range(300)
) + (
    "body{display:grid;grid-template-columns:1fr 3fr;font-family:sans-serif}"
    ".card{display:flex;border:1px solid #ccc;border-radius:4px}article p{line-height:1.5}"
)

# What a page does with the parts of its script: run each, show cards, then fetch and show the text.
START = """
function start(page) {
  const root = document.getElementById("root"), cards = document.createElement("section");
  for (let i = 0; i < CARDS; i++) {
    const card = document.createElement("div"), link = document.createElement("a");
    card.className = "card c" + i;
    link.href = "/" + page + "/card/" + i;
    link.textContent = "Card " + parts[i % parts.length](i);
    card.append(link);
    cards.append(card);
  }
  parts.forEach((part, i) => part(i));
  root.append(cards);
  fetch("/data/" + page).then(answer => answer.json()).then(data =>
    setTimeout(() => show(root, data), RENDER_DELAY_MS));
}
function show(root, data) {
  const article = document.createElement("article"), title = document.createElement("h1");
  title.textContent = data.title;
  article.append(title);
  for (const text of data.paragraphs) {
    const paragraph = document.createElement("p");
    paragraph.textContent = text;
    article.append(paragraph);
  }
  root.append(article);
}
"""


def marker(number: int) -> str:
    """Return the word that ends a page's text, which only its data holds."""
    return f"kindled{number:05}"


def path_of(number: int) -> str:
    """Return the path of a page."""
    return f"/page/{number}"


def run_javascript_website() -> AbstractAsyncContextManager[Website]:
    """Serve pages at `/page/0` and on, until the exit."""
    return run_module("bench.javascript_website")


def _page(number: int) -> Resource:
    images = "".join(
        f"<img src='/image/{number * IMAGES + image}' width={IMAGE_WIDTH} height={IMAGE_HEIGHT}>"
        for image in range(IMAGES)
    )
    text = (
        f"<!doctype html><html lang=en><head><meta charset=utf-8><title>Page {number}</title>"
        f"<link rel=stylesheet href=/style><script defer src=/script/{number}></script></head>"
        f"<body><nav>{images}</nav><main id=root></main></body></html>"
    )
    return Resource("text/html; charset=utf-8", text.encode())


def _script(number: int) -> Resource:
    parts: list[str] = []
    length = 0
    while length < SCRIPT_BYTES:
        part = len(parts)
        text = (
            f"parts.push(function part{part}(seed) {{\n"
            f'  const words = "{" ".join(WORDS)} {number}".split(" "), found = {{}};\n'
            f"  for (let i = 0; i < 40; i++) {{\n"
            f"    const word = words[(seed * {part + 3} + i) % words.length];\n"
            f"    found[word] = (found[word] || 0) + i * {part % 13 + 1};\n"
            f"  }}\n"
            f'  return Object.keys(found).map(word => word + "=" + found[word]).join(";");\n'
            f"}});\n"
        )
        parts.append(text)
        length += len(text)
    start = START.replace("CARDS", str(CARDS)).replace("RENDER_DELAY_MS", str(RENDER_DELAY_MS))
    source = f"(() => {{ const parts = [];\n{''.join(parts)}{start}start({number}); }})();"
    return Resource("text/javascript", source.encode())


def _data(number: int) -> Resource:
    rng = random.Random(number)
    paragraphs: list[str] = []
    length = 0
    while length < TEXT_BYTES:
        paragraph = " ".join(rng.choices(WORDS, k=60)).capitalize() + "."
        paragraphs.append(paragraph)
        length += len(paragraph)
    paragraphs.append(f"The end of {marker(number)}.")
    data = {"title": f"Page {number}", "paragraphs": paragraphs}
    return Resource("application/json", json.dumps(data).encode())


def _image(number: int) -> Resource:
    rng = random.Random(number)
    rows = b"".join(b"\0" + rng.randbytes(IMAGE_WIDTH * 3) for _ in range(IMAGE_HEIGHT))
    header = struct.pack(">IIBBBBB", IMAGE_WIDTH, IMAGE_HEIGHT, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    body = b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )
    return Resource("image/png", body)


MAKERS: dict[str, Callable[[int], Resource]] = {
    "page": _page,
    "script": _script,
    "data": _data,
    "image": _image,
}


async def _resource_at(path: str) -> Resource:
    kind, _, number = path.strip("/").partition("/")
    if kind == "style":
        return Resource("text/css", STYLE.encode())
    if kind not in MAKERS:
        return Resource("text/plain", b"")
    if kind == "data":
        await asyncio.sleep(DATA_DELAY_SECONDS)
    return MAKERS[kind](int(number))


if __name__ == "__main__":
    asyncio.run(serve(_resource_at))
