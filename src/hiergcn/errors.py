"""Errors of the user's data and choices, kept apart from errors of the library."""


class HierGCNError(Exception):
    """Base of every error that hiergcn raises on purpose. The message says what is wrong, where, and what to do."""


class InputError(HierGCNError, ValueError):
    """The user's data, file or setting cannot be used. The shell prints the message and exits with 2."""


class MissingPackageError(HierGCNError, ImportError):
    """An optional package is missing; the message names the extra that installs it."""


class UnwritableError(InputError):
    """Results cannot be written; the message names the path and the reason."""
