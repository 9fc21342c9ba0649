"""The one way out: address policy, resolver, guard and the forward proxy that applies them."""

from cinder.egress.base import Address, ProxyRefusal, RefusalCode, Resolver, Target
from cinder.egress.credentials import BasicCredentials, ProxyCredentials, Route
from cinder.egress.dialers import Upstream
from cinder.egress.policy import AddressPolicy, Guard
from cinder.egress.proxy import ForwardProxy, ProxyLimits
from cinder.egress.resolver import SystemResolver

__all__ = [
    "Address",
    "AddressPolicy",
    "BasicCredentials",
    "ForwardProxy",
    "Guard",
    "ProxyCredentials",
    "ProxyLimits",
    "ProxyRefusal",
    "RefusalCode",
    "Resolver",
    "Route",
    "SystemResolver",
    "Target",
    "Upstream",
]
