"""A sandbox in a process that may have 256 descriptors: prints its port, and ends when something is typed."""

from __future__ import annotations

import resource
import sys

import payerkit

if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    with payerkit.sandbox() as client:
        print(client.base_url.rpartition(":")[2], flush=True)
        sys.stdin.read()
