"""In front of the pages: the gate that every request passes, static files, and signed links."""
