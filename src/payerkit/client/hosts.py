"""The hosts of the operator, and hosts that only look like one of them.

Whoever mistypes a host sends the key and people's data to the owner of the other one.
"""

from __future__ import annotations

from difflib import SequenceMatcher

KNOWN_HOSTS = {
    "api.request.network": "live",
    "api.stage.request.network": "staging",
}
"""The environment of each host. Source: the operator's documentation."""

_LIKE = 0.85
"""The share that two hosts have in common if one may be the other one, mistyped."""

_LIKE_WITHOUT_ENDING = 0.9
"""The same for hosts without their endings, such as ".com": they are shorter."""

_DIGITS = str.maketrans("0135", "oles")
"""Digits that are read as letters; an i is read as an l, below."""


def likely_host(host: str) -> str | None:
    """Return the known host that another host looks like, or None.

    It does if a person could take one for the other: letters that are left out, added,
    changed or swapped; digits in place of letters; another ending; or the known host as
    a part of it, such as `api.request.network.example.com`. Letters of other alphabets
    are refused in any address.
    """
    skeleton = _skeleton(host)
    for known in reversed(KNOWN_HOSTS):
        meant = _skeleton(known)
        if _squeezed(meant) in _squeezed(skeleton):
            return known
    likenesses = {known: _likeness(skeleton, _skeleton(known)) for known in KNOWN_HOSTS}
    best = max(KNOWN_HOSTS, key=likenesses.__getitem__)
    if likenesses[best] >= _LIKE:
        return best
    name = skeleton.rpartition(".")[0]
    for known in KNOWN_HOSTS:
        meant = _skeleton(known).rpartition(".")[0]
        if _likeness(name, meant) > _LIKE_WITHOUT_ENDING:
            return known
    return None


def _skeleton(host: str) -> str:
    """Return a host with one letter for all that look alike."""
    return host.lower().rstrip(".").translate(_DIGITS).replace("i", "l")


def _squeezed(host: str) -> str:
    return host.replace(".", "").replace("-", "")


def _likeness(one: str, other: str) -> float:
    """Return the share of two texts that is the same, from 0 to 1."""
    return SequenceMatcher(None, one, other, autojunk=False).ratio()
