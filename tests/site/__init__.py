"""A real website on loopback for cinder to be tried on."""

from tests.site.server import Canary, Site, serve_site

__all__ = ["Canary", "Site", "serve_site"]
