"""Runs a command. What it takes is in `arguments`, its code in the module with its
name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from io import TextIOWrapper

from payerkit.cli.arguments import parse
from payerkit.errors import PayerkitError
from payerkit.wording import visible


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0: done. 1: failed, with a message on stderr. 2: wrong arguments. 130: interrupted
    with Ctrl+C. `onboard` returns 3 if rows are not done; `inspect` 3 for the verdict
    look, 4 for stop, 5 for an unreadable file.
    """
    for stream in (sys.stdout, sys.stderr):
        # A notebook or a test may have replaced it. A name may have letters that the
        # terminal does not have.
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    typed = list(sys.argv[1:] if arguments is None else arguments)
    options = parse(typed)
    options.arguments = typed
    try:
        # Imported here, so that a command loads only the libraries that it needs.
        code: int = import_module(f"payerkit.cli.{options.command}").run(options)
        sys.stdout.flush()
    except ModuleNotFoundError as error:
        message = (
            f"the package {error.name} is missing. Install it with: pip install"
            " 'payerkit[lab]'"
        )
    except BrokenPipeError:
        # As in "payerkit inspect FILE | head": whoever read the output has enough.
        # Python writes what is left when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        message = visible(
            f"{error.filename}: {error.strerror}" if error.filename else str(error)
        )
    except (PayerkitError, ImportError) as error:
        message = str(error)
    except KeyboardInterrupt:
        return 130
    else:
        return code
    print(f"payerkit {options.command}: {message}", file=sys.stderr)
    return 1
