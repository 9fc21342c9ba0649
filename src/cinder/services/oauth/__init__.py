"""Access tokens of an authorization server that the owner chose, beside cinder's own tokens."""

from cinder.services.oauth.access_tokens import AccessTokens, Resource
from cinder.services.oauth.issuer_keys import IssuerKeys

__all__ = ["AccessTokens", "IssuerKeys", "Resource"]
