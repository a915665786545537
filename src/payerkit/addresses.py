"""Web addresses: which may be linked, which are this machine."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_web_address(url: str) -> bool:
    """Tell whether a link may lead there: http or https with a host, and nothing but printable ASCII."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and url.isascii() and url.isprintable()
    except ValueError:
        return False


def is_loopback(host: str) -> bool:
    """Tell whether a host is this machine."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
