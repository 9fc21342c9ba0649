"""Icons: a small drawing for each kind of tool, for hosts that show one beside a name."""

import base64

import mcp_types as types

_SVG = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 8 8"><path d="{}"/></svg>'


def _icon(path: str) -> types.Icon:
    encoded = base64.b64encode(_SVG.format(path).encode()).decode()
    return types.Icon(src=f"data:image/svg+xml;base64,{encoded}")


# Each is sent with every list of tools: the shortest path that can be told from the others.
PAGE = _icon("M1 0h6v8H1zM2 2v1h4V2z")
LENS = _icon("M3 0a3 3 0 1 0 2 5l2 3 1-1-3-3")
TREE = _icon("M3 0h2v3h3v5H5V4H3v4H0V3h3z")
TABLE = _icon("M0 0h8v8H0zM1 3v4h2V3z")
TEXT = _icon("M0 1h8v1H0zm0 3h5v1H0z")
