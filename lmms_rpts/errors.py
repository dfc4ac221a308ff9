"""Base class of errors that users can mend."""


class UserError(ValueError):
    """What a user can mend; the message says what is wrong, and mostly what to do."""
