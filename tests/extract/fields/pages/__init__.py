"""Pages of many kinds that are generated with what is true of them."""
