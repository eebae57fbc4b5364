"""Let a process limit, irrevocably, the files and TCP ports that it can reach, by Landlock (Linux 5.13+).

Everything without a rule is refused, even to root. Constants and structures are those of ``linux/landlock.h``; the
three system calls have the same numbers on all architectures (``man 7 landlock``). PyPI's packages for Landlock stop at
an earlier version of the interface, or need a compiler.
"""

import ctypes
import os
import stat
import sys
from collections.abc import Iterable
from functools import cache

from purple_sdk.processes.capabilities import forbid_new_privileges

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_QUERY_VERSION = 1
_PATH_BENEATH, _NET_PORT = 1, 2

_EXECUTE, _WRITE, _READ, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_RIGHTS_OF_VERSION = {1: (1 << 13) - 1, 2: 1 << 13, 3: 1 << 14, 5: 1 << 15}
"""Rights on files, by the first version of Landlock that knows them."""

_OF_FILES = _EXECUTE | _WRITE | _READ | 1 << 14 | 1 << 15
"""The rights that a file can have; the others are for folders."""

KNOWS_PORTS, KNOWS_SIGNALS = 4, 6
"""The first version of the interface that knows TCP ports, and the first one that knows signals."""

_BIND_TCP, _CONNECT_TCP = 1 << 0, 1 << 1
_SCOPES = 1 << 0 | 1 << 1
"""Scopes that forbid abstract sockets of outside processes, and signals to outside processes."""


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("ports", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


_SIZE = ctypes.sizeof(_Ruleset)


class _PathRule(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


class _PortRule(ctypes.Structure):
    _fields_ = (("allowed", ctypes.c_uint64), ("port", ctypes.c_uint64))


@cache
def landlock_version() -> int:
    """Return the version of Landlock's interface in this kernel; 0 for none. From version 4 on it knows TCP ports."""
    if sys.platform != "linux":
        return 0
    return max(0, int(_libc().syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_QUERY_VERSION))))


def allow_only(
    readable: Iterable[str], writable: Iterable[str], port: int | None, listable: Iterable[str] = ()
) -> bool:
    """Restrict this process and its descendants to some files and one TCP port; this can't be undone.

    Args:
        readable: files and folders that it may read; those that don't exist are left out.
        writable: files and folders that it may also write; those that don't exist are left out.
        port: the only port that it may connect to; None for none.
        listable: folders that it may list, with all folders below them.

    Returns:
        Whether the kernel enforces this. A kernel of version 1 to 3 leaves the network open.

    Raises:
        OSError: the kernel has Landlock but refuses to apply it.
    """
    version = landlock_version()
    if not version:
        return False
    rights = sum(right for since, right in _RIGHTS_OF_VERSION.items() if since <= version)
    ports = _BIND_TCP | _CONNECT_TCP if version >= KNOWS_PORTS else 0
    wanted = _Ruleset(rights, ports, _SCOPES if version >= KNOWS_SIGNALS else 0)
    ruleset = _create(wanted, 8 if version < 4 else 16 if version < KNOWS_SIGNALS else _SIZE)
    try:
        for paths, allowed in ((readable, _READ | _READ_DIR | _EXECUTE), (writable, rights), (listable, _READ_DIR)):
            for path in paths:
                _allow_path(ruleset, path, allowed & rights)
        if port is not None and version >= KNOWS_PORTS:
            rule = _PortRule(_CONNECT_TCP, port)
            _call(_ADD_RULE, ruleset, ctypes.c_int(_NET_PORT), ctypes.byref(rule), ctypes.c_uint32(0))
        _enforce(ruleset)
    finally:
        os.close(ruleset)
    return True


def keep_signals_inside() -> bool:
    """Restrict this process and its descendants to signals among themselves; False if the kernel can't.

    ``kill(-1, …)`` then reaches exactly the descendants of this process, including those that left its group or
    session, or confined themselves further. Those can't signal this process.
    """
    if landlock_version() < KNOWS_SIGNALS:
        return False
    ruleset = _create(_Ruleset(0, 0, _SCOPES), _SIZE)
    try:
        _enforce(ruleset)
    finally:
        os.close(ruleset)
    try:
        os.kill(os.getppid(), 0)
    except PermissionError:
        return True
    return False


def _create(wanted: _Ruleset, size: int) -> int:
    return _call(_CREATE_RULESET, ctypes.byref(wanted), ctypes.c_size_t(size), ctypes.c_uint32(0))


def _enforce(ruleset: int) -> None:
    forbid_new_privileges()
    _call(_RESTRICT_SELF, ruleset, ctypes.c_uint32(0))


def _allow_path(ruleset: int, path: str, allowed: int) -> None:
    try:
        folder = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(folder).st_mode):
            allowed &= _OF_FILES
        rule = _PathRule(allowed, folder)
        _call(_ADD_RULE, ruleset, ctypes.c_int(_PATH_BENEATH), ctypes.byref(rule), ctypes.c_uint32(0))
    finally:
        os.close(folder)


def _call(number: int, *arguments: object) -> int:
    result = int(_libc().syscall(number, *arguments))
    if result < 0:
        number_of_error = ctypes.get_errno()
        raise OSError(number_of_error, f"Landlock refuses: {os.strerror(number_of_error)}")
    return result


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
