"""The fixture of tests that ask the management API."""

from tests.unit.show.web.api_site import site

__all__ = ["site"]
