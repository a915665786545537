"""Errors that reach a caller without the frames in between."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from payerkit.errors import PayerkitError

P = ParamSpec("P")
R = TypeVar("R")


def trimmed(function: Callable[P, R]) -> Callable[P, R]:
    """Make a public function raise our errors as if they arose in its call.

    The frames in between hold what was given, secrets too, for whoever looks at a traceback with its variables; and in
    a notebook they would bury the message. Errors that are not ours are faults of ours, and keep every frame.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except (PayerkitError, KeyboardInterrupt) as error:
            problem = error.with_traceback(None)
        args, kwargs = (), {}  # type: ignore[assignment]  # this frame is the one that stays
        raise problem

    return call
