"""Pages as files of Markdown: front matter, links between files, and what is beside a page."""

import json
import mimetypes
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from cinder.models.document import Json
from cinder.models.saved import format_timestamp
from cinder.models.url import join_web_url
from cinder.services.export.base import (
    Encoder,
    ExportedPage,
    ExportExtra,
    ExportRequest,
    describe_extras,
)
from cinder.services.export.file_names import (
    ORIGINAL,
    PAGE_SUFFIX,
    FileNames,
    check_inside,
    relative_link,
)
from cinder.text.markdown_blocks import BlockKind, find_blocks

_TARGET = r"<[^<>\n]{0,9000}>|(?:\\.|[^\s()<>\\]|\((?:\\.|[^\s()<>\\])*\))+"
# Code is matched first, so that what looks like a link in it stays. It begins with a whole run of
# backticks, but for an escaped one: with any part of a run, a page of backticks would take time by
# the square of their number.
_LINK = re.compile(
    r"(?P<code>(?:(?<!`)|(?<=\\`))(?P<ticks>`++).{0,2000}?(?<!`)(?P=ticks)(?!`))"
    r"|<(?P<bare>https?://[^<>\s]{1,9000})>"
    rf"|(?P<image>!\[(?:\\.|[^\[\]\\]|\[[^\[\]\n]*\]){{0,2000}}\]\()(?P<source>{_TARGET})"
    rf"|(?P<link>(?<!\\)\]\()(?P<target>{_TARGET})"
)
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_HEADING = re.compile(r"# [^\n]*")
# What a YAML parser does not take as it is, but only as an escape.
_NOT_PRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_SURROGATE = re.compile("[\ud800-\udfff]")
# The earliest time that a ZIP archive can hold.
_EARLIEST = datetime(1980, 1, 1, tzinfo=UTC)
# The image types of the web whose suffix the platform may not know, or know by another name.
_SUFFIXES = {"image/webp": ".webp", "image/avif": ".avif", "image/jpeg": ".jpg"}


@dataclass(frozen=True, slots=True)
class ExportedFile:
    """A file of an export; the path is relative, with slashes."""

    path: str
    data: bytes
    modified_at: datetime


@dataclass(frozen=True, slots=True)
class ImageFile:
    """The file of an image, or why there is none."""

    path: str = ""
    failure: str = ""


def front_matter(values: Mapping[str, Json | datetime]) -> str:
    """Return values as YAML front matter; those that are None or empty are left out."""
    lines = (
        f"{name}: {_write_yaml(value)}\n"
        for name, value in values.items()
        if value not in (None, [])
    )
    return f"---\n{''.join(lines)}---\n"


def _write_yaml(value: Json | datetime) -> str:
    """Return a value in YAML's flow style, which is JSON but for a few characters."""
    if isinstance(value, datetime):
        return format_timestamp(value)
    text = _SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False))
    return _NOT_PRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# Returns what to write instead of a link's absolute URL; its second argument is the fragment.
Rewrite = Callable[[str, str], str]


def rewrite_links(markdown: str, base: str, link: Rewrite, image: Rewrite) -> str:
    """Return Markdown with other link targets; code stays as it is.

    Args:
        markdown: the text.
        base: the URL of the page, on which relative targets are resolved.
        link: rewrites the targets of links.
        image: rewrites the sources of images.
    """

    def replace(found: re.Match[str]) -> str:
        if found["code"]:
            return found[0]
        if bare := found["bare"]:
            written = _rewrite_target(bare, base, link)
            return found[0] if written == bare else f"[{bare}]({written})"
        if found["image"]:
            return found["image"] + _rewrite_target(found["source"], base, image)
        return found["link"] + _rewrite_target(found["target"], base, link)

    pieces: list[str] = []
    end = 0
    for block in find_blocks(markdown):
        if block.kind is BlockKind.CODE:
            pieces += (
                _LINK.sub(replace, markdown[end : block.start]),
                markdown[block.start : block.end],
            )
            end = block.end
    return "".join((*pieces, _LINK.sub(replace, markdown[end:])))


def _rewrite_target(target: str, base: str, rewrite: Rewrite) -> str:
    plain = target[1:-1] if target.startswith("<") else _ESCAPED.sub(r"\1", target)
    if plain.startswith("#"):
        return target
    try:
        url, hash_mark, fragment = join_web_url(base, plain).partition("#")
    except ValueError:  # mailto: and the like
        return target
    written = rewrite(url, hash_mark + fragment)
    if written == plain:
        return target
    return written.replace("(", "%28").replace(")", "%29")


def find_images(page: ExportedPage) -> list[str]:
    """Return the URLs of the images in a page's Markdown, each once."""
    found: dict[str, None] = {}

    def note(url: str, fragment: str) -> str:
        found[url] = None
        return url + fragment

    base = page.final_url or page.entry.url
    rewrite_links(page.markdown or "", base, lambda url, fragment: url + fragment, note)
    return list(found)


class PageFileWriter:
    """Turns pages into the files of an export."""

    def __init__(
        self, names: FileNames, request: ExportRequest, images: Mapping[str, ImageFile]
    ) -> None:
        """`images` are those downloaded so far, by URL; others may be added before each page."""
        self._names = names
        self._request = request
        self._images = images

    def write(self, page: ExportedPage) -> Iterator[ExportedFile]:
        """Yield the files of a page: its Markdown first."""
        path = self._names.of(page.entry.url)
        stem = path.removesuffix(PAGE_SUFFIX)
        modified_at = page.fetched_at or _EARLIEST
        beside = self._files_beside(page, stem)
        text = self._write_markdown(page, path, beside)
        yield ExportedFile(path, text.encode(errors="replace"), modified_at)
        for name, data in beside.values():
            yield ExportedFile(name, data, modified_at)

    def _write_markdown(
        self, page: ExportedPage, path: str, beside: Mapping[str, tuple[str, bytes]]
    ) -> str:
        failed: list[str] = []

        def link(url: str, fragment: str) -> str:
            file = self._names.find(url)
            return url + fragment if file is None else relative_link(path, file, fragment)

        def image(url: str, fragment: str) -> str:
            file = self._images.get(url)
            if file is not None and file.failure:
                failed.append(f"The image {url} could not be downloaded: {file.failure}")
            return relative_link(path, file.path) if file and file.path else url + fragment

        base = page.final_url or page.entry.url
        body = rewrite_links(page.markdown or "", base, link, image)
        document = page.document
        values: dict[str, Json | datetime] = {
            "url": page.entry.url,
            "finalUrl": None if page.final_url == page.entry.url else page.final_url,
            "title": page.title,
            "date": page.fetched_at,
            "published": None if document is None else document.content.metadata.published,
            "verdict": page.verdict,
            "statusCode": page.status_code,
            "reason": page.reason,
            **describe_extras(page, self._request.include),
            **{kind: posixpath.basename(name) for kind, (name, _) in beside.items()},
            "warnings": [*(document.content.warnings if document else ()), *dict.fromkeys(failed)],
        }
        return front_matter(values) + (f"\n{body.rstrip()}\n" if body.strip() else "")

    def _files_beside(self, page: ExportedPage, stem: str) -> dict[str, tuple[str, bytes]]:
        """Return the names and contents of what is beside a page, by kind."""
        files: dict[str, tuple[str, bytes]] = {}
        document, raw = page.document, page.raw
        if document is not None and document.screenshot is not None:
            shot = document.screenshot
            files["screenshot"] = stem + suffix_of(shot.mime), shot.data
        if ExportExtra.HTML in self._request.include and page.html is not None:
            files["html"] = f"{stem}.html", page.html.encode(errors="replace")
        if document is not None and ExportExtra.RAW in self._request.include and raw is not None:
            name = f"{stem}{ORIGINAL}{suffix_of(document.content_type)}"
            files["original"] = name, raw.encode() if isinstance(raw, str) else raw
        return files


def suffix_of(mime: str) -> str:
    """Return the suffix of files of a MIME type."""
    return _SUFFIXES.get(mime) or mimetypes.guess_extension(mime) or ".bin"


class ZipWriter:
    """Writes files as a ZIP archive, as a stream."""

    def __init__(self) -> None:
        self._out = _Stream()
        self._archive = ZipFile(self._out, "w", ZIP_DEFLATED)

    def add(self, files: Sequence[ExportedFile]) -> bytes:
        """Return the next bytes of the archive.

        Raises:
            OSError: a file would not be in the folder that the archive is extracted to.
        """
        for file in files:
            check_inside(file.path)
            moment = max(file.modified_at.astimezone(UTC), _EARLIEST)
            entry = ZipInfo(file.path, moment.timetuple()[:6])
            entry.compress_type = ZIP_DEFLATED
            entry.external_attr = 0o644 << 16
            self._archive.writestr(entry, file.data)
        return self._out.take()

    def end(self) -> bytes:
        """Return the last bytes of the archive."""
        self._archive.close()
        return self._out.take()


class _Stream:
    """A file that can only be written to, and gives away what was written."""

    def __init__(self) -> None:
        self._written: list[bytes] = []

    def write(self, data: bytes, /) -> int:
        self._written.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no buffer."""

    def close(self) -> None:
        """Do nothing: there is no file."""

    def take(self) -> bytes:
        """Return what was written since the last call."""
        written = b"".join(self._written)
        self._written.clear()
        return written


class LlmsFullEncoder(Encoder):
    """Joins pages to one text: each with its title and its URL, then its Markdown."""

    def add(self, pages: Sequence[ExportedPage]) -> bytes:
        """Return the texts of some pages."""
        return "".join(map(self._write, pages)).encode(errors="replace")

    def _write(self, page: ExportedPage) -> str:
        url = page.entry.url

        def absolute(target: str, fragment: str) -> str:
            return target + fragment

        text = rewrite_links(page.markdown or "", page.final_url or url, absolute, absolute).strip()
        heading = _HEADING.match(text)
        title = heading[0] if heading else f"# {' '.join((page.title or url).split())}"
        body = text[heading.end() :].strip() if heading else text
        if page.reason:
            body = f"Not fetched: {' '.join(page.reason.split())}"
        return f"{title}\nSource: {url}\n\n" + (f"{body}\n\n" if body else "")
