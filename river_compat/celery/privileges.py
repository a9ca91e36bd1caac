"""Another user and group for this process, for those who start workers as root (`celery.platforms`)."""

from __future__ import annotations

import grp
import os
import pwd
from collections.abc import Sequence

from river_compat.celery.exceptions import SecurityError

__all__ = ["initgroups", "maybe_drop_privileges", "parse_gid", "parse_uid", "setgid", "setgroups", "setuid"]


def parse_uid(uid: int | str) -> int:
    """Return the number of a user who is given by number or name; raises KeyError for an unknown name."""
    try:
        return int(uid)
    except ValueError:
        try:
            return pwd.getpwnam(str(uid)).pw_uid
        except KeyError:
            raise KeyError(f"User does not exist: {uid}") from None


def parse_gid(gid: int | str) -> int:
    """Return the number of a group that is given by number or name; raises KeyError for an unknown name."""
    try:
        return int(gid)
    except ValueError:
        try:
            return grp.getgrnam(str(gid)).gr_gid
        except KeyError:
            raise KeyError(f"Group does not exist: {gid}") from None


def setuid(uid: int | str) -> None:
    """Become a user, given by number or name; raises KeyError, and PermissionError."""
    os.setuid(parse_uid(uid))


def setgid(gid: int | str) -> None:
    """Become a member of a group alone, given by number or name; raises as `setuid` does."""
    os.setgid(parse_gid(gid))


def initgroups(uid: int, gid: int) -> None:
    """Be in the groups of a user, and in one more; raises KeyError, and PermissionError."""
    os.initgroups(pwd.getpwuid(uid).pw_name, gid)


def setgroups(groups: Sequence[int]) -> None:
    """Be in these groups, as many of them as the system allows.

    Raises PermissionError where this process may not and is in another group still.
    """
    try:
        os.setgroups(list(groups)[: os.sysconf("SC_NGROUPS_MAX")])
    except PermissionError:
        if not set(os.getgroups()) <= set(groups):
            raise


def maybe_drop_privileges(uid: int | str | None = None, gid: int | str | None = None) -> None:
    """Become this user and group for good; a user alone brings his own group and those he is in.

    Raises KeyError for an unknown name, PermissionError where this process may not, and SecurityError
    when it could still become root again.
    """
    group = None if gid is None else parse_gid(gid)
    if uid is None:
        if group is not None:
            setgid(group)
        return
    user = parse_uid(uid)
    entry = pwd.getpwuid(user)
    group = entry.pw_gid if group is None else group
    os.setgid(group)
    initgroups(user, group)
    os.setuid(user)
    if user and _may_be_root_again():
        raise SecurityError("non-root user able to restore privileges after setuid.")


def _may_be_root_again() -> bool:
    try:
        os.setuid(0)
    except PermissionError:
        return False
    return True
