"""What is entered in a client's file: how to start cinder, or where it listens."""

from dataclasses import dataclass, field
from typing import TypeAlias

from cinder.model.document import Json

Entry: TypeAlias = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Launch:
    """A command that serves over stdio."""

    command: tuple[str, ...]
    variables: dict[str, str] = field(default_factory=dict)

    @property
    def entry(self) -> Entry:
        """How nearly all clients write it."""
        program, *arguments = self.command
        entry: Entry = {"command": program, "args": list[Json](arguments)}
        return entry | ({"env": dict[str, Json](self.variables)} if self.variables else {})


@dataclass(frozen=True, slots=True)
class Address:
    """A server that runs already, and the token that opens it."""

    url: str
    token: str | None

    def entry(self, url_key: str = "url", headers_key: str = "headers") -> Entry:
        """Return the entry, by the names that a client has for its two parts."""
        entry: Entry = {url_key: self.url}
        return entry | ({headers_key: self.headers} if self.token else {})

    @property
    def headers(self) -> Entry:
        """What every request carries."""
        return {"Authorization": f"Bearer {self.token}"} if self.token else {}


Target: TypeAlias = Launch | Address


# What says how a server is reached, in any client's words.
_WAYS = frozenset(
    {"type", "command", "args", "env", "url", "serverUrl", "httpUrl", "headers", "http_headers"}
)


def renew(existing: object, entry: Entry) -> Entry:
    """Return an entry that takes an existing one's place, with what was added to that.

    Variables count as added where the same is started as before.
    """
    if not isinstance(existing, dict):
        return entry
    added: Entry = {key: value for key, value in existing.items() if key not in _WAYS}
    variables, given = existing.get("env"), entry.get("env", {})
    is_same_start = "args" in entry and existing.get("args") == entry["args"]
    if is_same_start and isinstance(variables, dict) and isinstance(given, dict):
        added["env"] = variables | given
    return entry | added


class CannotKeep(Exception):
    """The file holds what would be lost if it were written anew; the message says what."""
