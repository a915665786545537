"""What a form leaves in the notebook when somebody keeps its response."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from IPython.core.displaypub import CapturingDisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

from payerkit import BankDetailsForm, InvalidInput, PayerForm, PaymentForm, Walkthrough, sandbox
from payerkit.client import Client
from published import TYPED_ACCOUNT, TYPED_PAYER

ORDER = {
    "payee": "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7",
    "amount": "10",
    "invoice_currency": "fUSDC-sepolia",
    "payment_currency": "fUSDC-sepolia",
}


@pytest.fixture
def client() -> Iterator[Client]:
    """Return a client of a sandbox that accepts an account at once."""
    with sandbox(seed=1, decide_after=0, fee_percent=0) as opened:
        yield opened


@pytest.fixture
def shell() -> Iterator[InteractiveShell]:
    """Run an IPython shell that keeps what is displayed, as a kernel's does."""
    options = Config(HistoryManager={"enabled": False}, InteractiveShell={"history_length": 0})
    InteractiveShell.clear_instance()
    yield InteractiveShell.instance(config=options, display_pub_class=CapturingDisplayPublisher)

    InteractiveShell.clear_instance()


def displayed(shell: InteractiveShell) -> list[dict[str, Any]]:
    """Return what was displayed, in order."""
    assert isinstance(shell.display_pub, CapturingDisplayPublisher)
    return list(shell.display_pub.outputs)


def sent_walkthrough(client: Client, **changes: str) -> Walkthrough:
    """Return a walkthrough whose three forms were sent."""
    walk = Walkthrough(client)
    walk.payer.fill(TYPED_PAYER, **changes)
    walk.payer.submit(anyway=True)
    walk.bank_details.fill(TYPED_ACCOUNT)
    walk.bank_details.submit(anyway=True)
    walk.payment.fill(ORDER)
    walk.payment.submit(anyway=True)
    return walk


@pytest.mark.parametrize("kind", [PayerForm, BankDetailsForm, PaymentForm])
def test_without_a_response_there_is_nothing_to_keep(client: Client, kind: type[PayerForm]) -> None:
    """A form that was not sent says so, in place of an empty record."""
    with pytest.raises(InvalidInput, match=r"There is no response to keep\. Send the form first\."):
        kind(client).keep()


def test_what_is_kept_is_masked_and_says_what_was_checked(client: Client) -> None:
    """Picture and text have the statuses, the masked account and the verdict, when and from where; nothing personal."""
    walk = sent_walkthrough(client)
    kept = [form.keep() for form in (walk.payer, walk.bank_details, walk.payment)]
    typed = {**TYPED_PAYER, **TYPED_ACCOUNT}
    personal = [typed[name] for name in ("ssn", "account_number", "email", "phone", "last_name", "date_of_birth")]
    shown = "\n".join(part for each in kept for part in (each.text, each.picture))

    assert [] == [value for value in personal if value in shown]
    assert [True] * 3 == [word in each.text for each, word in zip(kept, ("not_started", "••••4550", "OK"), strict=True)]
    assert all("Checked before it was sent: No findings." in each.text for each in kept[:2])
    assert all(re.search(r"Kept at [-\d]{10} \d\d:\d\d UTC, from http", each.text) for each in kept)
    assert "http" not in re.sub(r"from http\S+", "", kept[0].picture.split("<style>")[0])  # the links are the payer's
    assert str(kept[0]) == kept[0].text


def test_an_address_as_id_is_masked(client: Client) -> None:
    """An id that is an e-mail address is not kept."""
    walk = sent_walkthrough(client, client_user_id="zanzibar@example.com")
    kept = [walk.payer.keep(), walk.bank_details.keep()]

    assert [] == [each for each in kept if "zanzibar@" in each.text + each.picture]


def test_a_form_reserves_a_place_below_itself(client: Client, shell: InteractiveShell) -> None:
    """The place has no content, so that it takes no room; keeping the response updates it, with text beside HTML."""
    form = PaymentForm(client)
    form.fill(ORDER)
    form.submit()
    form._ipython_display_()
    shown, place = displayed(shell)
    form._on_message({"type": "keep", "touched": {}, "page": "page"})
    kept = displayed(shell)[-1]

    assert "application/vnd.jupyter.widget-view+json" in shown["data"]
    assert {} == place["data"]
    assert (place["transient"], True) == (kept["transient"], kept["update"])
    assert {"text/html", "text/plain"} == set(kept["data"])


def code_to_keep(form: PayerForm) -> str:
    """Return the line that a page shows if it did not take the update."""
    return str(form._reply({"type": "keep", "touched": {}})["kept"]["code"])


def test_the_line_to_run_names_the_form(client: Client, shell: InteractiveShell) -> None:
    """By its variable, by that of its walkthrough, or by a name that it gets; underscores are IPython's."""
    walk, form = Walkthrough(client), PayerForm(client)
    names: dict[str, Any] = shell.user_ns
    names.update(_1=form)
    unnamed = code_to_keep(form)
    reached = names["kept_payer"]
    names.update(payer_form=names.pop("kept_payer"), walk=walk)

    assert ("kept_payer.keep()", form) == (unnamed, reached)
    assert ("payer_form.keep()", "walk.payer.keep()") == (code_to_keep(form), code_to_keep(walk.payer))


def test_two_forms_without_a_name_get_two(client: Client, shell: InteractiveShell) -> None:
    """The line of one form never keeps the response of another, nor takes a name that a cell uses."""
    forms = [PayerForm(client), PayerForm(client)]
    shell.user_ns["kept_payer"] = "of the user"
    lines = list(map(code_to_keep, forms))

    assert ["kept_payer_.keep()", "kept_payer__.keep()"] == lines
    assert ("of the user", *forms) == tuple(
        shell.user_ns[name] for name in ("kept_payer", "kept_payer_", "kept_payer__")
    )


def test_without_ipython_the_line_is_an_example(client: Client) -> None:
    """Where no IPython runs, as in marimo, nobody knows the variable."""
    assert "form.keep()" == code_to_keep(PayerForm(client))
