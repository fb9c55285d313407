"""The store of an installation, opened from its settings."""
from dashboard.settings import Settings
def worker_is_alive(settings: Settings) -> bool:
    raise NotImplementedError
