"""File names for exported pages: the site's own tree, safe on every file system."""

import posixpath
import re
import unicodedata
from hashlib import blake2b
from urllib.parse import quote, unquote

import can_ada

from cinder.crawl.urls import canonicalize_url

PAGE_SUFFIX = ".md"
ORIGINAL = ".original"
"""The end of the stem of a file that has the server's response for a page."""
# Windows allows paths of 260 characters, most of which are left to the export's own folder.
MAX_PATH_BYTES = 180
MAX_NAME_BYTES = 100
_CUT_NAME_BYTES = 60
_DIGEST_BITS = 128
# A page whose duplicate has a duplicate, and so on.
_MAX_HOPS = 5

_WEB_PAGE = re.compile(r"\.(?:x?html?|md)$", re.IGNORECASE)
# Folders are never called like files: a site may have the pages /a and /a.md/b.
_LIKE_A_FILE = re.compile(r"\.(?:md|html|[a-z0-9]{2,5})$", re.IGNORECASE)
_MARKED = re.compile(rf"(?:~[0-9a-f]{{16}}|{re.escape(ORIGINAL)})$")
# What may stand in the folder of a host. A host of a URL has more: `http://a*"b/` is one.
_UNSAFE_IN_HOST = re.compile(r"[^A-Za-z0-9.-]")
# A hidden folder, the folder above, and an end that Windows drops.
_DOTS_AROUND = re.compile(r"^\.+|\.+$")
# Where the pages are whose URL is none: a batch keeps what it was given, to tell that it failed.
_INVALID = "_invalid"
_PLAIN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.@=&,+~-]*[A-Za-z0-9_])?")
_RESERVED_CHARACTERS = frozenset('<>:"/\\|?*%')
_RESERVED_NAMES = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³]) *(?:\.|$)", re.IGNORECASE
)


class FileNames:
    """Assigns a file to each page of an export, and finds the file that a link leads to.

    It holds hashes instead of URLs, so that 100,000 pages need little memory. The names depend on
    the set of URLs only, not on their order.
    """

    def __init__(self) -> None:
        self._pages: set[int] = set()
        # By the hash of a name, the page that has it: of several, the one with the shortest URL.
        self._owners: dict[int, int] = {}
        self._aliases: dict[int, str] = {}

    def add(self, url: str) -> None:
        """Add a page. All pages must be added before the first name is asked for."""
        self._pages.add(_digest(url))
        place, rank = _place(plain_name(url)), _rank(url)
        self._owners[place] = min(rank, self._owners.get(place, rank))
        canonical = canonicalize_url(url)
        if canonical is not None and canonical.key != url:
            self.add_alias(canonical.key, url)

    def add_alias(self, url: str, target: str) -> None:
        """Have links to a URL lead to the file of another."""
        self._aliases.setdefault(_digest(url), target)

    def of(self, url: str) -> str:
        """Return the path of a page's file within the export, with slashes."""
        name = plain_name(url)
        if self._owners.get(_place(name)) == _rank(url):
            return name
        return _mark(name.removesuffix(PAGE_SUFFIX), url) + PAGE_SUFFIX

    def find(self, url: str) -> str | None:
        """Return the path of the file that a link leads to; None if it is not exported."""
        canonical = canonicalize_url(url)
        spellings = (url,) if canonical is None else (url, canonical.url, canonical.key)
        for spelling in spellings:
            target: str | None = spelling
            for _ in range(_MAX_HOPS):
                if target is None:
                    break
                if _digest(target) in self._pages:
                    return self.of(target)
                target = self._aliases.get(_digest(target))
        return None


def plain_name(url: str) -> str:
    """Return the path that a page's file has unless another page has it: `host/path.md`."""
    parsed = _parse(url)
    *folders, stem = _split(url, parsed)
    stem = _WEB_PAGE.sub("", stem) or stem
    query = "" if parsed is None else parsed.search[1:]
    stem = _unreserved(f"{stem}@{_safe_name(query)}" if query else stem)
    if _is_long(stem) or _MARKED.search(stem):
        stem = _mark(stem, url)
    return _join(folders, stem, PAGE_SUFFIX, url)


def file_name(url: str, suffix: str) -> str:
    """Return the path of a file that is no page, such as an image, which no other URL has."""
    *folders, stem = _split(url, _parse(url))
    return _join(folders, _mark(posixpath.splitext(stem)[0], url), suffix, url)


def relative_link(page: str, file: str, fragment: str = "") -> str:
    """Return the link on a page to a file, both paths within the export."""
    if page == file and fragment:
        return fragment
    return quote(posixpath.relpath(file, posixpath.dirname(page)), safe="/~@=&,+") + fragment


def check_inside(path: str) -> None:
    """Return if a path, with slashes, stays in the folder that it is relative to.

    The names above do; this is for a mistake in them, as what is exported is chosen by strangers.

    Raises:
        OSError: it leads elsewhere, at least on some system.
    """
    is_inside = all(part not in ("", ".", "..") for part in path.split("/"))
    if not is_inside or not path.isprintable() or set(path) & set("\\:"):
        raise OSError(f"{path!r} is no path within the exported folder, so it is not written")


def _parse(url: str) -> can_ada.URL | None:
    """Return a URL of the web with a host; None for any other text."""
    try:
        parsed = can_ada.parse(url)
    # Half a character cannot be passed to the parser, which calls it a wrong type.
    except (ValueError, TypeError):
        return None
    is_page = parsed.protocol in ("http:", "https:") and parsed.host.strip(".")
    return parsed if is_page else None


def _split(url: str, parsed: can_ada.URL | None) -> list[str]:
    """Return the folders of a URL and the last part of its path, as safe names."""
    if parsed is None:
        return [_INVALID, _safe_name(url) or "_"]
    host = parsed.host.replace("]", "").replace("[", "")
    host = _DOTS_AROUND.sub("_", _UNSAFE_IN_HOST.sub("_", host))
    *folders, last = (_safe_name(part) for part in parsed.pathname[1:].split("/"))
    shown = [
        _unreserved(_mark(folder, folder) if _is_long(folder) else folder or "_")
        for folder in (host, *folders)
    ]
    # The folder of a host keeps its name, which looks like a file's anyway.
    inner = (f"{folder}_" if _LIKE_A_FILE.search(folder) else folder for folder in shown[1:])
    is_file = shown[0].casefold().endswith(PAGE_SUFFIX)
    return [f"{shown[0]}_" if is_file else shown[0], *inner, last or "index"]


def _join(folders: list[str], stem: str, suffix: str, url: str) -> str:
    path = "/".join((*folders, stem + suffix))
    if len(path.encode()) <= MAX_PATH_BYTES:
        return path
    return f"{folders[0]}/{_mark(_MARKED.sub('', stem), url)}{suffix}"


def _safe_name(part: str) -> str:
    """Return a part of a URL as a file name, readable where that is safe."""
    if _PLAIN.fullmatch(part):
        return part
    text = unicodedata.normalize("NFC", unquote(part))
    # Half a character, which no file name can have.
    text = text.encode(errors="replace").decode()
    last = len(text) - 1
    return "".join(
        quote(char, safe="")
        if char in _RESERVED_CHARACTERS or not char.isprintable()
        # A hidden file, and an end that Windows drops.
        else f"%{ord(char):02X}"
        if (char in ". " and index in (0, last))
        else char
        for index, char in enumerate(text)
    )


def _is_long(name: str) -> bool:
    return len(name.encode()) > MAX_NAME_BYTES


def _unreserved(name: str) -> str:
    return f"_{name}" if _RESERVED_NAMES.match(name) else name


def _mark(stem: str, url: str) -> str:
    """Return a name that no other URL has, cut where it is long."""
    if _is_long(stem):
        stem = stem.encode()[:_CUT_NAME_BYTES].decode(errors="ignore")
    return f"{stem}~{blake2b(url.encode(errors='surrogatepass'), digest_size=8).hexdigest()}"


def _place(name: str) -> int:
    """Return the hash of a name, the same for names that some file systems do not tell apart."""
    return _digest(unicodedata.normalize("NFC", name.casefold()))


def _rank(url: str) -> int:
    return len(url) << _DIGEST_BITS | _digest(url)


def _digest(text: str) -> int:
    encoded = text.encode(errors="surrogatepass")
    return int.from_bytes(blake2b(encoded, digest_size=_DIGEST_BITS // 8).digest())
