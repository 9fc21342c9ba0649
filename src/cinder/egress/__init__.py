"""The one door out: address policy, resolver, guard and the forward proxy that applies them."""

from cinder.egress.base import Address, Resolver
from cinder.egress.credentials import Credentials
from cinder.egress.guard import Guard
from cinder.egress.passes import ProxyPass, Route
from cinder.egress.policy import AddressPolicy
from cinder.egress.proxy import ForwardProxy, ProxyLimits
from cinder.egress.refusal import ProxyRefusal, RefusalCode
from cinder.egress.resolver import SystemResolver
from cinder.egress.target import Target
from cinder.egress.upstream import Upstream

__all__ = [
    "Address",
    "AddressPolicy",
    "Credentials",
    "ForwardProxy",
    "Guard",
    "ProxyLimits",
    "ProxyPass",
    "ProxyRefusal",
    "RefusalCode",
    "Resolver",
    "Route",
    "SystemResolver",
    "Target",
    "Upstream",
]
