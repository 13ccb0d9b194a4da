"""Any failure of a publication as one of the error tree."""

from __future__ import annotations

import psycopg

from runnel.errors import InternalError, RunnelError, TransientError


class CommitUnknownError(Exception):
    """The connection was lost at COMMIT: the files may be in the lake, and must stay."""

    def __init__(self, cause: psycopg.Error) -> None:
        super().__init__(str(cause))
        self.cause = cause


def as_runnel_error(error: Exception) -> RunnelError:
    if isinstance(error, RunnelError):
        return error
    first = str(error).splitlines()[0] if str(error) else type(error).__name__
    if isinstance(error, psycopg.errors.LockNotAvailable | psycopg.errors.DeadlockDetected):
        return TransientError("the sink or the lake is locked by someone else", detail=first)
    if isinstance(error, psycopg.OperationalError | OSError):
        return TransientError("the sink could not be published", detail=first)
    return InternalError("the sink could not be published", detail=f"{type(error).__name__}: {first}")
