"""Shared objects that are compiled at their first use, in a folder of the user's own."""
from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import stat
import tempfile
import warnings
from pathlib import Path
from typing import Any, Callable, Optional

from ._core import CpodesWarning


def is_private(folder: Path) -> bool:
    """Does the folder belong to the user, who alone can write to it? Everybody who can replace it or its files can make this
    process run code of theirs."""
    user = os.geteuid()
    own = os.lstat(folder)
    if not stat.S_ISDIR(own.st_mode) or own.st_uid != user or own.st_mode & 0o022:
        return False
    for above in folder.resolve().parents: # could somebody rename it?
        found = os.stat(above)
        if found.st_uid not in (0, user) or found.st_mode & 0o002 and not found.st_mode & stat.S_ISVTX:
            return False
    return True


def cache_folder() -> Optional[Path]:
    """The user's own folder for objects, or None, with a warning, if there is none to trust."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    try:
        folder = (Path(given) if os.path.isabs(given) else Path.home() / ".cache") / "cpodes"
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if is_private(folder):
            return folder
        reason = f"{folder} belongs to somebody else, or others can write to it or above it (chmod go-w)"
    except (OSError, RuntimeError) as error: # RuntimeError: no home
        reason = str(error)
    warnings.warn(f"compiled objects are not kept: {reason}", CpodesWarning, stacklevel=6)
    return None


def digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:32]


def from_cache(folder: Path, key: str) -> Optional[ctypes.CDLL]:
    """The object of this key, whose name ends with the digest of its content. Broken ones are removed."""
    for path in folder.glob(f"{key}-*.so"):
        try:
            state = os.lstat(path)
            if (stat.S_ISREG(state.st_mode) and state.st_uid == os.geteuid() and not state.st_mode & 0o022
                    and path.name == f"{key}-{digest(path.read_bytes())}.so"):
                return ctypes.CDLL(str(path))
        except OSError:
            pass
        path.unlink(missing_ok=True)
    return None


def compiled(source: Any, compile_in: Callable[[Path], Path]) -> ctypes.CDLL:
    """The shared object that compile_in makes in a folder. What has been compiled for this machine from the same source, which is
    anything whose repr() names all that the object depends on, is not compiled again."""
    machine = [platform.machine(), platform.system(), *platform.architecture(), *platform.libc_ver()]
    key = digest(repr([machine, source]).encode())
    folder = cache_folder()
    library = from_cache(folder, key) if folder else None
    if library is None:
        with tempfile.TemporaryDirectory(dir=folder) as build: # mode 0700
            made = compile_in(Path(build))
            if folder is None:
                return ctypes.CDLL(str(made)) # stays in memory
            made.chmod(0o700)
            target = folder / f"{key}-{digest(made.read_bytes())}.so"
            made.rename(target) # atomic, in case two processes compile the same
        library = ctypes.CDLL(str(target))
    return library
