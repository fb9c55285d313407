"""In front of the pages: what every request passes, the files of the pages, and signed links."""
