"""Base class of errors that users can fix."""


class UserError(ValueError):
    """An error that the user can fix; the message states the problem and the remedy."""
