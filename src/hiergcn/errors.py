"""Errors of the user's data and choices, kept apart from errors of the library."""


class HierGCNError(Exception):
    """Base of every error that hiergcn raises on purpose. Its message is one sentence: what, where, what to do."""


class InputError(HierGCNError, ValueError):
    """Data, a file or a setting of the user that cannot be used. The shell prints the message and exits with 2."""


class MissingPackageError(HierGCNError, ImportError):
    """An optional package is needed; the message names the extra that brings it."""
