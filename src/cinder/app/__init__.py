"""The composition root: every part built from the settings, opened, and closed again."""

from cinder.app.composition import App, open_app
from cinder.app.login import open_login_browser

__all__ = ["App", "open_app", "open_login_browser"]
