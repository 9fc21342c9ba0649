"""The one way out: address policy, resolver, guard and the forward proxy that applies them."""
