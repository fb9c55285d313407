"""Charts: the values drawn, and the figures that draw them."""
