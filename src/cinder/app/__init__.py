"""The composition root: every part built from the settings, opened, and closed again."""

from cinder.app.composition import App, open_app
from cinder.app.login import open_login_browser
from cinder.app.login_window import LogIn

__all__ = ["App", "LogIn", "open_app", "open_login_browser"]
