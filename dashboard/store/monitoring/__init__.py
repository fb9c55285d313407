"""The watcher itself: coverage, credits, failing upstreams, and sizes."""
