"""How a process gives up what root may do beyond other users (Linux)."""

import ctypes
import os
import platform

_CAPSET = {"x86_64": 126, "aarch64": 91}
_CAPABILITY_VERSION_3 = 0x20080522
_READS_ANY_FILE = 1 << 1 | 1 << 2
"""CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: in a container, its files may belong to another user."""


_PR_SET_NO_NEW_PRIVS = 38


def forbid_new_privileges() -> None:
    """Let no program that this process runs from now on have more powers than this process."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)


def drop_capabilities() -> None:
    """Give up root's powers over other processes and the system, where this process has any.

    Programs that are run later have them again, except after ``forbid_new_privileges``.
    """
    number = _CAPSET.get(platform.machine())
    if number is None or os.geteuid() != 0:
        return
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION_3, 0)
    kept = ctypes.c_uint32(_READS_ANY_FILE)
    data = (ctypes.c_uint32 * 6)(kept.value, kept.value, 0, 0, 0, 0)
    ctypes.CDLL(None, use_errno=True).syscall(number, header, data)
