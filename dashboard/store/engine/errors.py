"""The database's errors, turned into ours at the edge of the store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, StatementError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from dashboard.errors import StoreError, StoreUnavailable
from dashboard.store.engine.database import Database


@contextmanager
def store_errors(database: Database) -> Iterator[None]:
    """Raise StoreError trees for whatever the database raises."""
    try:
        yield
    except DBAPIError as error:
        raise translated(database, error.orig) from error
    except PoolTimeout as error:
        raise StoreUnavailable(
            f"{database.name} cannot be used now: this process has been writing for too long; "
            "try again"
        ) from error
    except database.driver_error as error:  # of a statement that went below SQLAlchemy
        raise translated(database, error) from error
    except StatementError as error:
        # Not the database's refusal but a value of ours that it cannot keep: a mistake in code.
        raise error.orig or error from error


def translated(database: Database, error: BaseException | None) -> StoreError:
    """Return the error of ours that stands for one of the driver."""
    known = None if error is None else database.unavailable(error)
    return known or StoreError(f"{database.name} refused what was asked ({error})")
