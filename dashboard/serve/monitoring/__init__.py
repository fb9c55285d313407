"""How serve is watched: health, the metrics page and the access log."""
