"""What keeps curl behind the egress proxy, whatever it is used for."""

from pathlib import Path

from curl_cffi import CurlOpt


def tunnel_options(ca_file: Path | None) -> dict[CurlOpt, str | int]:
    """Return the options without which curl would find ways round the proxy."""
    options: dict[CurlOpt, str | int] = {
        # Plain http goes through a tunnel like https: one kind of refusal, connections that
        # are kept, and curl cannot send a request for an IPv6 address any other way.
        CurlOpt.HTTPPROXYTUNNEL: 1,
        CurlOpt.NOPROXY: "",  # else NO_PROXY in the environment opens a way round
        CurlOpt.PROTOCOLS_STR: "http,https",  # else curl reads file:
    }
    if ca_file is not None:
        options[CurlOpt.CAINFO] = str(ca_file)
    return options
