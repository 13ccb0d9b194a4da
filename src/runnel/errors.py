"""The error tree: its kinds decide what the user reads and whether a refresh is tried again.

RunnelError
├── UserError        what the user wrote or configured cannot work; never retried
│   └── Unsupported  a construct that is not maintained: FULL under AUTO, an error under DIFFERENTIAL
├── SchemaError      a source, a lake or the installed SQL API is not what was recorded
├── TransientError   may pass by itself: a lock, a lost fence, a connection; retried
└── InternalError    a bug or corrupted state; stops the refresh
"""

from __future__ import annotations


class RunnelError(Exception):
    """A failure with a message, and where they help a detail and a hint."""

    def __init__(self, message: str, *, detail: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.detail = detail
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.message]
        if self.detail:
            lines.append(f"detail: {self.detail}")
        if self.hint:
            lines.append(f"hint: {self.hint}")
        return "\n".join(lines)


class UserError(RunnelError):
    pass


class Unsupported(UserError):
    """A construct that no delta rule covers; `token` is a word of the user's text to point at."""

    def __init__(self, construct: str, *, token: str | None = None) -> None:
        super().__init__(f"{construct} is not maintained incrementally")
        self.construct = construct
        self.token = token


class SchemaError(RunnelError):
    pass


class TransientError(RunnelError):
    pass


class InternalError(RunnelError):
    pass
