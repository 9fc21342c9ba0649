"""The ways in: each only translates between its wire format and a service call."""
