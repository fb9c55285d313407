"""Fixtures of tests that ask the management API."""

from tests.unit.show.web.api_site import client, site

__all__ = ["client", "site"]
