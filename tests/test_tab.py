"""Tab in a notebook: objects offer what a user needs, and nothing of what other parts
of payerkit call.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import payerkit
from cases import table
from published import ORDER


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    """Give a notebook's shell with a client, a payment with its card and findings, and
    the forms.
    """
    shell: Any = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    with payerkit.sandbox(seed=1) as client:
        payment = payerkit.initiate_payment(client, ORDER)
        shell.user_ns |= {
            "payerkit": payerkit,
            "create_payer": payerkit.create_payer,
            "client": client,
            "payment": payment,
            "card": payment.card(),
            "findings": payerkit.check_payment(payment),
            "finding": payerkit.check_payer({})[0],
            "walk": payerkit.Walkthrough(client),
        }
        yield shell


def offered(shell: InteractiveShell, text: str) -> set[str]:
    """Return what Tab offers behind a text, up to names that begin with an
    underscore.
    """
    with provisionalcompleter():
        found = {each.text for each in shell.Completer.completions(text, len(text))}
    return {name for name in found if not name.startswith("_")}


@table("offered_by_tab")
def test_tab_offers_what_a_user_needs(
    shell: InteractiveShell, text: str, names: list[str], hidden: list[str]
) -> None:
    """With jedi, which a notebook uses: a property whose annotation it cannot follow
    would empty the whole list.
    """
    found = offered(shell, text)

    assert shell.Completer.use_jedi
    assert ({*names}, set()) == (found.intersection(names), found.intersection(hidden))
