"""The use cases: what cinder does, whichever way it was asked."""
