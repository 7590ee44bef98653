"""The manifest of a run folder: the digests of its files, so that a changed, damaged or swapped one is named."""

import hashlib
import json
from collections.abc import Collection
from pathlib import Path

from hiergcn.errors import InputError

MANIFEST = "manifest.json"
FORMAT = 2
"""Version of the run folder. Version 1 had no manifest, and its networks knew nodes by their rows, not by their ids."""
_NAME = "hiergcn run"


def write_manifest(folder: Path, without: Collection[str] = ()) -> None:
    """Write the digest of every file in the folder, but not of those `without` one, which a user may change."""
    files = {path.name: _digest(path) for path in sorted(folder.iterdir()) if path.name not in (MANIFEST, *without)}
    content = {"format": f"{_NAME} {FORMAT}", "sha256": files}
    (folder / MANIFEST).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def check_manifest(folder: Path) -> int:
    """Return the version of the folder; name a file that is not the one that was written with the others."""
    path = folder / MANIFEST
    if not path.exists():
        return 1
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        name, _, number = str(content["format"]).rpartition(" ")
        version, digests = int(number), dict(content["sha256"])
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError(f"{path} is damaged; run the fit again.") from None
    if name != _NAME or version > FORMAT:
        raise InputError(f"{folder} was written by a newer hiergcn ({content['format']!s:.40}); update hiergcn.")
    for file, digest in digests.items():
        if not (folder / file).is_file():
            raise InputError(f"{folder / file} is missing, so the run folder is incomplete; run the fit again.")
        if _digest(folder / file) != digest:
            raise InputError(
                f"{folder / file} is not the file that was written with the others: it was changed, damaged or taken "
                f"from another run. Put the original back or run the fit again."
            )
    return version


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
