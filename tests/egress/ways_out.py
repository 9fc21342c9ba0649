"""Finds in source code whatever could open a connection or start a program, by its syntax."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# Whoever imports one of these can speak to others; what lies within them is found by their name.
CLIENTS = frozenset(
    {
        "aiohttp",
        "asyncpg",
        "curl_cffi",
        "dns",
        "ftplib",
        "grpc",
        "h2",
        "http.client",
        "httpcore",
        "httpx",
        "httpx2",
        "imaplib",
        "mcp.client",
        "multiprocessing",
        "nntplib",
        "pgqueuer",
        "playwright",
        "poplib",
        "psycopg",
        "pycurl",
        "redis",
        "requests",
        "selenium",
        "smtplib",
        "socket",
        "socketserver",
        "subprocess",
        "telnetlib",
        "urllib.request",
        "urllib3",
        "uvicorn",
        "webbrowser",
        "websockets",
        "wsproto",
        "xmlrpc",
    }
)

# Calls that connect or start a program, on whatever object: loops, transports, `os`, `asyncio`.
CALLS = frozenset(
    {
        "connect_ex",
        "create_connection",
        "create_datagram_endpoint",
        "create_subprocess_exec",
        "create_subprocess_shell",
        "create_unix_connection",
        "execl",
        "execle",
        "execlp",
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "fork",
        "forkpty",
        "getaddrinfo",
        "gethostbyname",
        "getnameinfo",
        "open_connection",
        "open_unix_connection",
        "popen",
        "posix_spawn",
        "posix_spawnp",
        "sendto",
        "sock_connect",
        "spawnl",
        "spawnv",
        "spawnve",
        "start_tls",
        "subprocess_exec",
        "subprocess_shell",
        "urlopen",
        "urlretrieve",
    }
)

# Code that is put together while it runs hides what it imports.
CONCEALMENTS = frozenset({"__import__", "compile", "eval", "exec", "import_module"})


@dataclass(frozen=True, slots=True, order=True)
class WayOut:
    """A name in a module that could lead out."""

    module: str
    """The module's file, relative to the package."""
    name: str


def find_ways_out(package: Path) -> set[WayOut]:
    """Return every way out in the modules of a package."""
    return {
        WayOut(path.relative_to(package).as_posix(), name)
        for path in package.rglob("*.py")
        for name in find_names(path.read_text())
    }


def find_names(source: str) -> Iterator[str]:
    """Yield what could lead out of a module's source code."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names):
                yield from _clients(alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                yield from _clients([module, *(f"{module}.{alias.name}" for alias in names)])
                known = CALLS | CONCEALMENTS | ({"system"} if module == "os" else frozenset())
                yield from (each.name for each in names if each.name in known)
            case ast.Attribute(value=ast.Name(id="os"), attr="system"):
                yield "system"
            case ast.Attribute(attr=name) if name in CALLS or name == "import_module":
                yield name
            case ast.Name(id=name) if name in CONCEALMENTS:
                yield name
            case ast.Constant(value=str(text)) if text in CALLS:
                yield text  # as getattr takes it


def _clients(modules: Iterator[str] | list[str]) -> Iterator[str]:
    for module in modules:
        parts = module.split(".")
        beginnings = (".".join(parts[:length]) for length in range(1, len(parts) + 1))
        yield from (beginning for beginning in beginnings if beginning in CLIENTS)
