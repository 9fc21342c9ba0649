"""The one door out: address policy, resolver, guard and the forward proxy that applies them."""

from cinder.egress.base import Address, Resolver
from cinder.egress.credentials import Credentials
from cinder.egress.guard import Guard
from cinder.egress.policy import AddressPolicy
from cinder.egress.proxy import ForwardProxy, ProxyLimits
from cinder.egress.refusal import Marker, ProxyRefusal, RefusalCode
from cinder.egress.resolver import SystemResolver

__all__ = [
    "Address",
    "AddressPolicy",
    "Credentials",
    "ForwardProxy",
    "Guard",
    "Marker",
    "ProxyLimits",
    "ProxyRefusal",
    "RefusalCode",
    "Resolver",
    "SystemResolver",
]
