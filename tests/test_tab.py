"""Tab in a notebook: objects offer what a user needs, and nothing of what other parts of payerkit call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import payerkit
from published import ORDER


@pytest.fixture(scope="module")
def shell() -> Iterator[InteractiveShell]:
    """Give a notebook's shell with a client, a payment with its card and findings, and the forms."""
    shell: Any = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    with payerkit.sandbox(seed=1) as client:
        payment = payerkit.initiate_payment(client, ORDER)
        shell.user_ns |= {
            "payerkit": payerkit,
            "client": client,
            "payment": payment,
            "card": payment.card(),
            "findings": payerkit.check_payment(payment),
            "finding": payerkit.check_payer({})[0],
            "walk": payerkit.Walkthrough(client),
        }
        yield shell


def offered(shell: InteractiveShell, text: str) -> set[str]:
    """Return what Tab offers behind a text, up to names that begin with an underscore."""
    with provisionalcompleter():
        found = {each.text for each in shell.Completer.completions(text, len(text))}
    return {name for name in found if not name.startswith("_")}


@pytest.mark.parametrize(
    ("text", "names", "hidden"),
    [
        ("payerkit.", {"connect", "onboard", "errors", "tables"}, {"Payment", "bulk", "html"}),
        (
            "client.",
            {"base_url", "close", "environment", "pace"},
            {"sleep", "send", "without_retries", "account_secret"},
        ),
        ("client.sandbox.", {"pay", "policy", "ledger", "advance", "events"}, set()),
        ("payment.", {"card", "save", "to_safe", "transactions", "order", "network"}, {"dict", "unwrap", "whole"}),
        ("card.", {"verdict", "save", "sentence", "findings"}, set()),
        ("findings.", {"verdict", "errors", "warnings", "to_frame"}, set()),
        ("finding.", {"code", "message", "hint", "severity"}, set()),
        ("walk.", {"payer", "bank_details", "payment"}, {"traits", "send"}),
        ("walk.payer.", {"fill", "submit", "result", "findings", "client_user_id"}, {"traits", "show_in", "send"}),
        ("walk.bank_details.", {"fill", "submit", "holder_is_payer"}, {"offer_holder", "send_state"}),
        ("walk.payment.", {"fill", "submit", "check_again"}, {"offer_account", "reserve_output"}),
    ],
)
def test_tab_offers_what_a_user_needs(shell: InteractiveShell, text: str, names: set[str], hidden: set[str]) -> None:
    """With jedi, which a notebook uses: a property whose annotation it cannot follow would empty the whole list."""
    found = offered(shell, text)

    assert shell.Completer.use_jedi
    assert (names, set()) == (names & found, hidden & found)
