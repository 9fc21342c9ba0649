"""The composition root: builds every part from the settings, opens it and closes it."""

from cinder.app.browser import LogIn
from cinder.app.composition import App, open_app, open_login_browser

__all__ = ["App", "LogIn", "open_app", "open_login_browser"]
