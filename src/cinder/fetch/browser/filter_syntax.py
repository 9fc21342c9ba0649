"""Filter rules as EasyList writes them: the part that a browser's own URL blocking can express."""

import re
from dataclasses import dataclass
from enum import StrEnum

_COSMETIC = re.compile(r"#[@?$%]*#")
_OPTIONS = re.compile(r"\$(~?[\w-]+(?:=[^,]*)?(?:,~?[\w-]+(?:=[^,]*)?)*)$")
_ON_HOST = re.compile(r"\|\|((?:[a-z0-9_-]+\.)+[a-z0-9-]+(?::\d+)?)[\^/](.*)", re.IGNORECASE)
_THIRD_PARTY = frozenset({"third-party", "3p"})
# Chromium compares case, and a rule without types is for all of them: these change nothing.
_WITHOUT_EFFECT = frozenset({"match-case", "all"})
# A pattern that Chromium cannot read makes it refuse the whole list.
_PLAIN_PATH = re.compile(r"[\w/.%~*-]*", re.ASCII)
_COMMON_BEGINNING = re.compile(r"(?:https?)?(?::?//)?(?:www\.)?")
_LEAST_LITERAL_CHARS = 4


class Skip(StrEnum):
    """Why a line gives no rule."""

    COMMENT = "comment"
    COSMETIC = "hides elements"
    OPTION = "has an option that cannot be expressed"
    SYNTAX = "has a syntax that cannot be expressed"
    TOO_BROAD = "would match nearly everything"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What to block, or as an exception to let through.

    Without a host, `path` may stand anywhere in a URL. With one, the rule holds for the host and
    all below it, and `path` is what must follow: `/` for everything.
    """

    host: str
    path: str
    is_exception: bool = False
    is_third_party: bool = False
    """The rule holds only on pages of other sites."""

    @property
    def is_on_whole_host(self) -> bool:
        """Whether nothing of the host is left."""
        return bool(self.host) and self.path == "/"

    def blocked_texts(self) -> tuple[str, ...]:
        """Return the rule as texts for `urls`: a URL that has one of them in it is blocked.

        Chromium looks for them anywhere in the URL, so a URL that carries a blocked one
        unescaped in its query is blocked as well. A pattern that tells the parts of a URL apart
        costs several times as much for each page.
        """
        if not self.host:
            return (self.path,)
        return f"//{self.host}{self.path}", f".{self.host}{self.path}"

    def url_pattern(self) -> str:
        """Return a rule that has a host as a URLPattern."""
        host = self.host if ":" in self.host else f"{self.host}:*"
        return f"*://{{*.}}?{host}{self.path}*"


def parse_rule(line: str) -> Rule | Skip:
    """Read one line of a filter list."""
    text = line.strip()
    if not text or text.startswith(("!", "[")):
        return Skip.COMMENT
    if _COSMETIC.search(text):
        return Skip.COSMETIC
    options: frozenset[str] = frozenset()
    if found := _OPTIONS.search(text):
        text, options = text[: found.start()], frozenset(found[1].split(","))
    if options - _THIRD_PARTY - _WITHOUT_EFFECT:
        return Skip.OPTION
    is_third_party = bool(options & _THIRD_PARTY)
    if text.startswith("@@"):
        return _parse_exception(text.removeprefix("@@"), is_third_party=is_third_party)
    return _parse_blocking(text, is_third_party=is_third_party)


def _parse_exception(text: str, *, is_third_party: bool) -> Rule | Skip:
    found = _ON_HOST.fullmatch(text)
    if found is None or not _PLAIN_PATH.fullmatch(found[2]):
        return Skip.SYNTAX
    return Rule(
        host=found[1].lower(),
        path="/" + found[2].rstrip("*"),
        is_exception=True,
        is_third_party=is_third_party,
    )


def _parse_blocking(text: str, *, is_third_party: bool) -> Rule | Skip:
    if found := _ON_HOST.fullmatch(text):
        if _has_marks(found[2]):
            return Skip.SYNTAX
        path = "/" + found[2].rstrip("*")
        return Rule(host=found[1].lower(), path=path, is_third_party=is_third_party)
    return Skip.OPTION if is_third_party else _parse_text(text)


def _parse_text(text: str) -> Rule | Skip:
    """Read a rule on a part of the URL, or on its beginning."""
    is_regular_expression = text.startswith("/") and text.endswith("/")
    text = text.removeprefix("|") if text.startswith("|http") else text
    if is_regular_expression or _has_marks(text):
        return Skip.SYNTAX
    telling_parts = _COMMON_BEGINNING.sub("", text.strip("*"), count=1).split("*")
    if max(map(len, telling_parts)) < _LEAST_LITERAL_CHARS:
        return Skip.TOO_BROAD
    return Rule(host="", path=text.strip("*"))


def _has_marks(text: str) -> bool:
    """Whether a text marks an end or a separator, for which Chromium's texts have no sign."""
    return "|" in text or "^" in text
