"""The revisions; a released one is never changed, a new one is added."""
