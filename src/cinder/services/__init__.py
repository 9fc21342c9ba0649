"""The use cases: what cinder does, whichever surface the request comes from."""
