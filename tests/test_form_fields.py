"""The fields of the forms without a browser: what they ask for, follow, take, offer and mask."""

from __future__ import annotations

import json
from typing import Any

import pytest

from form_browser import Browser
from payerkit import BankDetails, BankDetailsForm, Payer, PayerForm, PaymentForm, PaymentOrder
from payerkit.checks.requirements import USUAL_FIELDS, listed_rails, requirements
from payerkit.client import Client
from payerkit.forms.view import form_sections
from payerkit.models.requests import RequestModel
from published import BANK_DETAILS, PAYER
from test_forms import fields_of

MODELS = [Payer, BankDetails, PaymentOrder]


@pytest.fixture
def client(shared: Client) -> Client:
    """Return a client of the sandbox that tests share."""
    return shared


@pytest.fixture
def bank(client: Client) -> BankDetailsForm:
    """Return an empty form for bank details."""
    return BankDetailsForm(client, "user-123")


def typed(form: Any, *touched: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Enter values one after the other in a page; return its last view."""
    browser = Browser(form)
    view: dict[str, Any] = {}
    for values in touched:
        view = browser.post("change", values, **more)
    return view


@pytest.mark.parametrize(
    ("currency", "rails", "note"),
    [
        ("INR", "swift", "Chosen, since the operator lists INR only over swift rails."),
        ("inr", "swift", "Chosen, since the operator lists INR only over swift rails."),
        ("EUR", "local", "Chosen as usual for EUR; the operator also lists swift."),
        ("USD", "local", "Chosen as usual for USD; the operator also lists swift and wire."),
        ("MXN", "local", "Chosen, since the operator lists MXN only over local rails."),
        ("ISK", "", None),  # not listed
        ("XX", "", None),
    ],
)
def test_rails_follow_the_currency(bank: BankDetailsForm, currency: str, rails: str, note: str | None) -> None:
    """The usual rails of a currency are chosen, and the form says so and why."""
    view = typed(bank, {"currency": currency})

    assert (currency, rails) == (view["values"]["currency"], view["values"].get("rails", ""))
    assert note == next((each.text for each in view["notes"].get("rails", ())), None)


@pytest.mark.parametrize("currency", sorted({currency for currency, _ in requirements()}))
def test_no_listed_currency_is_held_back_for_its_rails(bank: BankDetailsForm, currency: str) -> None:
    """Whoever picks a currency need not know its rails: they are among those that the operator lists."""
    typed(bank, {"currency": currency})

    assert "rails_unusual" not in {finding.code for finding in bank.findings}
    assert bank._entries.visible_values()["rails"] in listed_rails(currency)


def test_rails_follow_a_change_of_the_currency(bank: BankDetailsForm) -> None:
    """The form takes back what it chose, also when fields are filled in from Python or left without a change."""
    rails = []
    for values in ({"currency": "INR"}, {"rails": None}, {"currency": "EUR"}, {"currency": ""}, {"currency": "AUD"}):
        typed(bank, values)
        rails.append(bank._entries.visible_values()["rails"])
    bank.fill(currency="USD")

    assert ["swift", "swift", "local", "", "swift"] == rails
    assert "local" == bank._entries.visible_values()["rails"]


@pytest.mark.parametrize("entered", [{"rails": "wire"}, {"rails": "local"}])
def test_rails_that_a_person_chose_stay(bank: BankDetailsForm, entered: dict[str, str]) -> None:
    """What somebody chose is not rewritten by another currency, whichever came first; a warning says so."""
    typed(bank, {"currency": "INR"}, entered, {"currency": "AUD"})
    after = bank._entries.visible_values()["rails"]
    bank.clear()
    view = typed(bank, entered, {"currency": "INR"})

    assert (entered["rails"], entered["rails"]) == (after, bank._entries.visible_values()["rails"])
    assert ["rails_unusual"] == [finding.code for finding in bank.findings.warnings if finding.field == "rails"]
    assert "Chosen" not in json.dumps(view["notes"])


def test_another_account_follows_its_own_currency(client: Client) -> None:
    """After an account was sent, the rails of the next one are chosen anew."""
    form = BankDetailsForm(client, "fields-next")
    browser = Browser(form)
    browser.post("change", {"currency": "INR"})
    form._run_action("new")
    cleared = form._entries.visible_values()["rails"]
    browser.post("change", {"currency": "INR"})

    assert ("", "swift") == (cleared, form._entries.visible_values()["rails"])


@pytest.mark.parametrize(
    ("currency", "rails", "fields", "needed"),
    [
        ("USD", None, ("account_number", "routing_number"), ("account_number", "routing_number")),
        ("EUR", None, ("iban",), ("iban",)),
        ("GBP", None, ("sort_code", "iban", "account_number"), ()),  # either of two ways
        ("INR", None, ("account_number", "swift_bic", "ifsc"), ("account_number", "swift_bic", "ifsc")),
        ("EUR", "swift", ("iban", "swift_bic"), ("iban", "swift_bic")),
        ("KES", None, USUAL_FIELDS, ()),  # listed, and what it needs is not published
        ("ISK", None, USUAL_FIELDS, ()),  # not listed
        ("", None, (), ()),
    ],
)
def test_a_view_has_the_fields_that_the_currency_needs(
    bank: BankDetailsForm, currency: str, rails: str | None, fields: tuple[str, ...], needed: tuple[str, ...]
) -> None:
    """The page shows these fields, marks those without an alternative, and the sentence above them says which."""
    names, marked, sentence = typed(bank, {"currency": currency}, {"rails": rails})["needs"]

    assert (fields, needed) == (names, marked)
    assert sentence


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("country", "germ", "DE"),  # the only one
        ("country", "us", "US"),
        ("country", "England", "GB"),
        ("country", "united", "united"),  # several
        ("country", "Atlantis", "Atlantis"),  # none
        ("country", "", ""),
    ],
)
def test_a_text_that_is_taken_stands_for_its_code(client: Client, name: str, text: str, value: str) -> None:
    """With Tab or Enter a page takes the code that a text means; without them, the text stays."""
    form = PayerForm(client)
    taken = typed(form, {name: text}, taken=[name])["values"][name]
    left = typed(form, {name: text})["values"][name]

    assert (value, text) == (taken, left)


@pytest.mark.parametrize(
    ("record", "name", "text", "label", "value"),
    [
        ({"country": "US"}, "phone", "(212) 555-1234", "Use +12125551234", "+12125551234"),
        ({}, "date_of_birth", "31.12.1985", "Use 1985-12-31", "1985-12-31"),
        ({}, "email", "Jane Doe <jane@example.com>", "Use jane@example.com", "jane@example.com"),
        ({}, "country", "USA", "Use US", "US"),
    ],
)
def test_a_reading_is_offered_and_taken(
    client: Client, record: dict[str, str], name: str, text: str, label: str, value: str
) -> None:
    """The note offers what a text means; only the click writes it, and the note is gone."""
    form = PayerForm(client)
    browser = Browser(form)
    offered = browser.post("change", {**record, name: text})
    taken = browser.post("use", name=name)

    assert (label, text) == (offered["notes"][name][0].use, offered["values"][name])
    assert {name: value} == taken["values"]
    assert [] == [note for note in taken["notes"].get(name, ()) if note.use or note.severity == "error"]


def test_a_note_that_can_mean_nothing_offers_nothing(client: Client) -> None:
    """A click of a page that is not up to date then changes nothing."""
    browser = Browser(PayerForm(client))
    view = browser.post("change", {"date_of_birth": "03/04/1985"})
    after = browser.post("use", name="date_of_birth")

    assert "" == view["notes"]["date_of_birth"][0].use
    assert {"date_of_birth": "03/04/1985"} == after["values"]
    assert "nonsense" not in browser.post("use", name="nonsense")["values"]


def test_the_reading_of_a_secret_is_not_shown(bank: BankDetailsForm) -> None:
    """The button names what it does, and neither it nor the view repeats the number."""
    browser = Browser(bank)
    view = browser.post("change", {"iban": "GB29-NWBK-6016-1331-9268-19"})
    used = browser.post("use", name="iban")

    assert "Use it without blanks" == view["notes"]["iban"][0].use
    assert "GB29" not in json.dumps([view, used])
    assert "GB29NWBK60161331926819" == bank._entries._values["iban"].get_secret_value()


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("account_number", "253009233489", "••••3489"),
        ("account_number", "1234567", "••••"),  # too short to show a part of it
        ("iban", "DE89370400440532013000", "••••3000"),
        ("document_number", "X0000000", ""),
    ],
)
def test_what_is_held_is_masked(bank: BankDetailsForm, name: str, value: str, shown: str) -> None:
    """A page learns that a secret is held, and at most its last four characters."""
    assert {name: shown} == typed(bank, {name: value})["held"]


def test_only_businesses_are_asked_what_only_they_have(client: Client) -> None:
    """The browser knows of each field whose it is, and what it is called for a business."""
    fields = fields_of(PayerForm(client))
    own = {name: row[6]["only"] for name, row in fields.items() if len(row) > 6 and row[6].get("only")}

    assert dict.fromkeys(["company_name", "source_of_funds", "business_activity"], "business") == own
    assert "Date of incorporation" == fields["date_of_birth"][6]["business"][0]
    assert ["beneficiary_type", "company_name", "client_user_id"] == list(fields)[:3]


@pytest.mark.parametrize("model", MODELS)
def test_options_have_words(model: type[RequestModel]) -> None:
    """A select shows each of its values in words."""
    drawn = {row[0]: dict(row[6]["options"]) for _, rows in form_sections(model) for row in rows if row[2] == "select"}

    assert {name: field.options for name, field in model.request_schema.fields.items() if field.options} == {
        name: tuple(options) for name, options in drawn.items()
    }
    assert all(words[0].isupper() for options in drawn.values() for words in options.values())


@pytest.mark.parametrize(("kind", "values"), [(PayerForm, PAYER), (BankDetailsForm, BANK_DETAILS), (PaymentForm, {})])
def test_what_a_form_is_drawn_from_is_small(client: Client, kind: type[Any], values: dict[str, str]) -> None:
    """Its spec and its first view take at most 4 kB each, whatever the currency."""
    form = kind(client)
    form.fill(values)
    view = Browser(form).post("ready")

    assert len(json.dumps(form.get_state(), default=repr)) <= 12_000
    assert len(json.dumps(form.spec)) <= 4_000
    assert len(json.dumps(view)) <= 4_000
