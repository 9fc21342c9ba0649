"""Canonical URLs: one key for all spellings of a URL that every server treats alike."""

import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b

# Parameters that serve tracking, or identify a session, on every site. `ref`, `source` and the like
# are not listed: they may select what a page shows.
_TRACKING_LISTED = (
    "gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid fbclid msclkid yclid "
    "ysclid twclid ttclid li_fat_id igshid igsh epik srsltid irclickid irgwc rb_clickid "
    "wickedid _openstat mc_cid mc_eid mkt_tok _ga _gl _hsenc _hsmi __hstc __hssc __hsfp "
    "hsctatracking _kx vero_id vero_conv oly_anon_id oly_enc_id ml_subscriber "
    "ml_subscriber_hash _branch_match_id _branch_referrer fb_action_ids fb_action_types "
    "fb_source cx_recs_click phpsessid jsessionid oscsid zenid cfid cftoken xtcsid"
)
_TRACKING = frozenset(_TRACKING_LISTED.split())
_NOISE_PREFIXES = ("utm_", "mtm_", "matomo_", "pk_", "piwik_", "hsa_", "aspsessionid")
# Names with several meanings; the value decides.
_MAYBE_SESSION_LISTED = "sid s sess session sessionid session_id session-id sessid"
_MAYBE_SESSION = frozenset(_MAYBE_SESSION_LISTED.split())
_TOKEN = re.compile(r"[0-9a-fA-F]{16,}|(?=[A-Za-z_-]*[0-9])[0-9A-Za-z_-]{24,}")

_PATH_PARAMETER = re.compile(r";(?:jsessionid|phpsessid|sessionid|sid)=[^/;]*", re.IGNORECASE)
_PATH_SEGMENT = re.compile(r"/\((?:[A-Z]\([0-9A-Za-z_-]{10,64}\))+\)(?=/)")


def is_tracking_parameter(parameter: str) -> bool:
    """Whether a query parameter tracks the visitor or identifies a session."""
    name, _, value = parameter.partition("=")
    name = name.lower()
    if name in _TRACKING or name.startswith(_NOISE_PREFIXES):
        return True
    return name in _MAYBE_SESSION and _TOKEN.fullmatch(value) is not None


def without_session(path: str) -> str:
    """Return a path without the session id that some servers add to it."""
    return _PATH_SEGMENT.sub("", _PATH_PARAMETER.sub("", path))


FINGERPRINT_BYTES = 16
# Most links of a page were on the page before it: navigation, footers, lists. Long URLs are rare,
# and many of them would fill the memory.
_CACHED_URLS = 16_384
_LONGEST_CACHED = 512

# A URL normalized by the WHATWG rules, without a user name: scheme, authority, path, query.
_WEB_URL = re.compile(
    r"(https?)://([^/?#@:\\][^/?#@\\]*)(/[^?#]*)(?:\?([^#]*))?(?:#.*)?", re.DOTALL
)
# What may need normalization; most paths have none of it and are their own key.
_UNUSUAL_PATH = re.compile(r"[%;(]")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})?")
_INDEX_FILE = re.compile(
    r"/(?:index\.(?:html?|php|aspx?|jsp|shtml|xhtml|cfm)|default\.(?:html?|aspx?))$", re.IGNORECASE
)
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")


@dataclass(frozen=True, slots=True)
class CanonicalUrl:
    """A web URL as it is fetched, and the key that all its spellings share.

    `url` is the link without fragment, tracking parameters and session ids. URLs are compared by
    `key`. `/` and `/index.html` are two URLs: only their contents show whether they are one page.
    """

    url: str
    key: str
    authority: str
    """The host, and the port where it is not the scheme's default."""
    path: str
    """The path of the key."""
    query: str
    """The query of the key, without the question mark; may be empty."""
    fingerprint: bytes
    """A hash of the key in 16 bytes, the same on every machine."""


def canonicalize_url(url: str) -> CanonicalUrl | None:
    """Return the canonical form of an absolute URL that is normalized by the WHATWG rules.

    Returns None for URLs that are not http(s), or have a user name.
    """
    return _canonicalize_cached(url) if len(url) <= _LONGEST_CACHED else _canonicalize(url)


def canonicalize_unseen_url(url: str) -> CanonicalUrl | None:
    """Do the same for one of many URLs that are not expected again."""
    return _canonicalize(url)


def _canonicalize(url: str) -> CanonicalUrl | None:
    found = _WEB_URL.fullmatch(url)
    if found is None or not url.isascii():
        return None
    scheme, authority, path, query = found.groups("")
    authority = authority.removesuffix(_DEFAULT_PORTS[scheme])
    start = f"{scheme}://{authority}"
    fetched = key_path = path
    if _UNUSUAL_PATH.search(path):
        fetched = without_session(path)
        key_path = without_session(_respell(path))
    kept = key_query = ""
    if query:
        pairs = [p for p in query.split("&") if p and not is_tracking_parameter(_respell(p))]
        kept = "&".join(pairs)
        # The sort is stable: the order of a repeated parameter may matter.
        key_query = "&".join(sorted(map(_respell, pairs), key=lambda pair: pair.partition("=")[0]))
    url = f"{start}{fetched}?{kept}" if kept else f"{start}{fetched}"
    key = f"{start}{key_path}?{key_query}" if key_query else f"{start}{key_path}"
    # Both are mostly equal, and then share one string in memory.
    key = url if url == key else key
    fingerprint = blake2b(key.encode(), digest_size=FINGERPRINT_BYTES).digest()
    return CanonicalUrl(url, key, authority, key_path, key_query, fingerprint)


_canonicalize_cached = lru_cache(maxsize=_CACHED_URLS)(_canonicalize)


def without_index_file(path: str) -> str:
    """Return the path of the folder in place of that of its index file."""
    return _INDEX_FILE.sub("/", path)


def _respell(text: str) -> str:
    return _ESCAPE.sub(_respell_escape, text) if "%" in text else text


def _respell_escape(found: re.Match[str]) -> str:
    digits = found[1]
    if digits is None:
        # Unchanged, it could form an escape with the decoded characters after it.
        return "%25"
    code = int(digits, 16)
    return chr(code) if code in _UNRESERVED else f"%{digits.upper()}"
