"""The forms without a browser: their fields, their messages, their results, and the privacy of their values."""

from __future__ import annotations

import gzip
import json
import re
import threading
from base64 import b64decode
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, Literal, cast, get_args, get_origin

import pytest

import payerkit
from cases import table
from example_addresses import TOKEN
from far_end import Behaviour, FarEnd, close, reply
from form_browser import ORDER, Browser, Started, answers_of, opened
from payerkit import (
    BankDetails,
    BankDetailsForm,
    InvalidInput,
    Payer,
    PayerForm,
    PaymentForm,
    PaymentOrder,
    PaymentPolicy,
    Refused,
    Walkthrough,
)
from payerkit.checks import schema
from payerkit.checks.requirements import USUAL_FIELDS, listed_rails, requirements
from payerkit.client import Client, Retries
from payerkit.errors import NotFound
from payerkit.forms.form import Form
from payerkit.forms.view import form_fields, form_sections
from payerkit.masking import masking_of
from payerkit.models.requests import RequestModel, Text
from published import ANSWERS, BANK_DETAILS, PAYER, TYPED_ACCOUNT, TYPED_PAYER

MODELS = [Payer, BankDetails, PaymentOrder]


@pytest.fixture
def client(shared: Client) -> Client:
    """Return a client of the sandbox that tests share."""
    return shared


def spec_of(form: Form) -> dict[str, Any]:
    """Return what the browser draws a form from."""
    return cast("dict[str, Any]", form.spec["forms"][0])


def fields_of(form: Form) -> dict[str, list[Any]]:
    """Return the rows that the browser reads, by field name."""
    return {field[0]: list(field) for _, drawn in spec_of(form)["sections"] for field in drawn}


@pytest.mark.parametrize("model", MODELS)
def test_every_field_has_its_place(model: type[RequestModel]) -> None:
    """A form shows every field once, with a label, help and an example or options, in a known section."""
    fields = form_fields(model)

    assert set(model.model_fields) == set(fields)
    assert [] == [name for name, field in fields.items() if not (field.title and field.help and field.section)]
    assert [] == [name for name, field in fields.items() if not (field.example or field.options)]
    assert "More" not in {field.section for field in fields.values()}


@pytest.mark.parametrize("model", MODELS)
def test_secrets_are_typed_into_secret_fields(model: type[RequestModel]) -> None:
    """What is masked everywhere is hidden, or masked when it is left: an account number is seen while it is typed."""
    drawn = [field for _, fields in form_sections(model) for field in fields]
    hidden = {name for name, _, kind, *_ in drawn if kind == "secret"}
    masked = {name for name, _, kind, *_ in drawn if kind in {"account", "in_fours"}}

    assert {name for name in model.model_fields if masking_of(name) == "hidden"} == hidden
    assert {name for name in model.model_fields if masking_of(name) == "account"} == masked


@pytest.mark.parametrize("model", MODELS)
def test_choices_are_those_of_the_model(model: type[RequestModel]) -> None:
    """A select offers the values that the model's type has, in the same order, each in words."""
    drawn = {row[0]: dict(row[6]["options"]) for _, rows in form_sections(model) for row in rows if row[2] == "select"}
    typed = {
        name: get_args(kind)
        for name, field in model.model_fields.items()
        for kind in (field.annotation, *get_args(field.annotation))
        if get_origin(kind) is Literal
    }

    assert typed == {name: tuple(options) for name, options in drawn.items()}
    assert all(words[0].isupper() for options in drawn.values() for words in options.values())


def test_a_new_field_appears_by_itself(client: Client) -> None:
    """A row in the schema and an annotation in the model are enough for the form."""
    row = schema.SchemaField("Occupation", "What they do.", "baker", "Compliance")

    class Wider(Payer):
        """A payer with one more field."""

        request_schema = schema.Schema("Payer", "2.4", {**schema.PAYER.fields, "occupation": row})
        occupation: Text | None = None

    class WiderForm(PayerForm):
        """Its form."""

        model = Wider

    form = WiderForm(client)
    form.fill(occupation=" baker ")

    assert ["occupation", "Occupation", "text", False, "What they do.", "baker"] == fields_of(form)["occupation"]
    assert {"occupation": "baker"} == {name: value for name, value in form._entries.visible_values().items() if value}


@table("form_notes")
def test_a_note_speaks_plainly(client: Client, form: str, typed: dict[str, Any], field: str, told: str) -> None:
    """An empty field asks for its value, a finding has no technical terms, and labels stand in place of names."""
    browser = Browser(getattr(payerkit, form)(client))

    assert told == browser.post("change", typed)["notes"][field][0].text


def test_no_finding_is_shown_before_a_field_is_left(client: Client) -> None:
    """A new form shows no findings, and a value in one field shows none beside another."""
    browser = Browser(PayerForm(client))
    first = browser.post("start")
    second = browser.post("change", {"city": "New York"})

    assert ({}, {}) == (first["notes"], second["notes"])


def test_a_payer_is_onboarded_from_python(client: Client) -> None:
    """The values are sent, and the response is returned and kept."""
    form, _ = opened(client, client_user_id="form-python")
    status = form.submit()

    assert status is form.result
    assert (None, "form-python", True, "<PayerForm: done>") == (form.error, form.client_user_id, form.done, repr(form))
    assert status.user_id == payerkit.get_payer_status(client, "form-python").user_id


@pytest.mark.parametrize("status", [reply(404), reply(500), reply(429), close], ids=["404", "500", "429", "closed"])
def test_a_service_without_the_status_call_still_records(connected: Callable[..., Client], status: Behaviour) -> None:
    """The status call is beyond the specification; whatever comes of it, the agreement is still recorded."""
    answers = [reply(200, json.dumps(ANSWERS["create_payer"])), reply(200, '{"success": true}'), status]
    with FarEnd(answers) as far_end:
        form = PayerForm(connected(far_end.url, retries=Retries(attempts=1)))
        form.fill(PAYER)
        form.submit()
        shown = Browser(form).press("sign")

    assert ("success", "The agreement is recorded.") == (shown["banner"]["kind"], shown["banner"]["title"])
    assert form.error is None


def test_errors_block_and_are_listed(client: Client) -> None:
    """Nothing is sent with an error; the banner, which gets the focus, has a line for each that leads to its field."""
    form, browser = opened(client, email="john.doe", country="USA")
    shown = browser.submit()
    banner = shown["banner"]
    corrected = [browser.post("change", each)["banner"] for each in ({"country": "US"}, {"email": "a@example.com"})]

    assert ("open", "banner", "error") == (shown["phase"], shown["focus"], banner["kind"])
    assert "2 fields need attention. Nothing was sent." == banner["title"]
    assert [("E-mail address: Not an e-mail address.", "email"), ("Country: Not two letters.", "country")] == (
        banner["lines"]
    )
    assert isinstance(form.error, InvalidInput)
    assert form.result is None
    assert ("1 field needs attention. Nothing was sent.", None) == (corrected[0]["title"], corrected[1])


def test_warnings_need_one_confirmation(client: Client) -> None:
    """Warnings are shown once more before sending; changing a value withdraws the offer; "Send anyway" sends."""
    form, browser = opened(client, client_user_id="form-warned", postcode="1234")
    with pytest.raises(InvalidInput, match=r"1 warning\. Nothing was sent(.|\n)*submit\(anyway=True\)"):
        form.submit()
    doubt = browser.press("submit")
    changed = browser.post("change", {"postcode": "123"})
    not_offered = browser.press("send")
    sent = browser.submit()

    assert ["Send anyway", "Register the payer"] == [each["buttons"][0][0] for each in (doubt, changed)]
    assert ["review", "open", "open", "done"] == [each["phase"] for each in (doubt, changed, not_offered, sent)]
    assert "1 warning below. Change the answer, or send anyway." == doubt["banner"]["title"]
    assert "Payer registered, with 1 warning." in sent["banner"]["title"]


def test_a_service_message_is_shown_beside_its_field(start: Callable[..., Started]) -> None:
    """A refusal is shown above, and beside its field until the value changes."""
    problem = '{"message": "no", "errors": [{"field": "amount", "message": "Above the limit."}]}'
    form, browser, _ = start(reply(400, problem), kind=PaymentForm)
    shown = browser.submit()
    changed = browser.post("change", {"amount": "10"})

    assert isinstance(form.error, Refused)
    assert ("open", "banner", "error") == (shown["phase"], shown["focus"], shown["notes"]["amount"][0][0])
    assert ([("Amount: Above the limit.", "amount")], {}) == (shown["banner"]["lines"], answers_of(shown))
    assert ({}, shown["banner"]) == (changed["notes"], changed["banner"])


def test_a_refusal_about_no_field_says_what_to_do(client: Client) -> None:
    """An error about no field is shown with its advice."""
    form = BankDetailsForm(client, "form-nobody")
    browser = Browser(form)
    form.fill(BANK_DETAILS)
    shown = browser.submit()

    assert isinstance(form.error, NotFound)
    assert "The service does not know this payer. Nothing was changed." == shown["banner"]["title"]
    assert ("Register the payer first.", "") in shown["banner"]["lines"]
    with pytest.raises(NotFound):
        form.submit()


def test_another_account_keeps_the_holder(client: Client) -> None:
    """All accounts are listed, masked; for the next one, the fields of the account are cleared, not the holder's."""
    payerkit.create_payer(client, {**PAYER, "clientUserId": "form-two"})
    form = BankDetailsForm(client, "form-two")
    form.fill(BANK_DETAILS)
    detail = form.submit()
    shown = Browser(form).post("start")
    values = Browser(form).press("new")["values"]

    assert [True, True] == [text in shown["panel"] for text in (detail.id, "••••3489")]
    assert BANK_DETAILS["accountNumber"] not in json.dumps(shown)
    assert (BANK_DETAILS["accountName"], "", "") == (values["account_name"], values["currency"], values["bank_name"])


def test_the_browser_looks_up(client: Client) -> None:
    """A search returns codes and names, and the chosen code gets its name as help."""
    browser = Browser(PaymentForm(client))
    found = browser.post("search", name="payment_currency", text="sepolia eth", search_id=1)["options"]
    chosen = browser.post("change", {"payment_currency": "eth-sepolia-sepolia"})

    assert ("ETH-sepolia-sepolia", "ETH on Sepolia (test network)") in found
    assert {"payment_currency": "ETH on Sepolia (test network)"} == chosen["code_names"]


def test_a_stored_form_is_a_picture_without_values(client: Client) -> None:
    """So pages that run no widgets, such as GitHub's, show its fields, and nothing that was typed."""
    form = PayerForm(client)
    form.fill(PAYER)
    shown = form._repr_mimebundle_()[0]["text/html"]
    svg = b64decode(re.findall('base64,([^"]*)', shown)[0]).decode()

    assert {"Payer", "First name", "Social security number"} <= set(re.findall("<text[^>]*>([^<]*)<", svg))
    assert [] == [value for value in PAYER.values() if f">{value}<" in svg]


def test_nothing_typed_is_in_any_state(client: Client) -> None:
    """Widget state, reprs and the attributes that a variable viewer lists hold no value, nor one of the holder."""
    walk = onboarded(
        client, "form-at-hand", **{name: value for name, value in TYPED_PAYER.items() if name != "client_user_id"}
    )
    walk.bank_details.holder_is_payer = True
    walk.bank_details.fill(account_number=TYPED_ACCOUNT["account_number"])
    forms = (walk, walk.payer, walk.bank_details)
    shown = [repr(each) for form in forms for each in (form, *vars(form).values())]
    states = [json.dumps([form.get_state(), form.spec], default=repr) for form in forms]
    private = {
        value for name, value in (TYPED_PAYER | TYPED_ACCOUNT).items() if len(value) > 3 and name != "beneficiary_type"
    }

    assert [] == [value for value in private for text in (*shown, *states) if value in text]


@pytest.mark.parametrize("kind", [PayerForm, BankDetailsForm, PaymentForm])
@pytest.mark.parametrize(
    ("address", "environment"),
    [
        ("http://127.0.0.1:9", "sandbox"),
        ("https://api.stage.request.network", "staging"),
        ("https://api.example.com", "live"),  # any other address
    ],
)
def test_forms_show_where_they_send(
    connected: Callable[..., Client], kind: type[Form], address: str, environment: str
) -> None:
    """Every form has the environment of its client in its header."""
    assert environment == spec_of(kind(connected(address)))["environment"]


def test_real_money_is_told_as_soon_as_the_currency_is_chosen(client: Client) -> None:
    """A note is at the payment currency until another one is chosen, and again before the order is sent."""
    form = PaymentForm(client)
    browser = Browser(form)
    chosen = browser.post("change", {"payment_currency": "USDCn-matic"})["notes"]
    other = browser.post("change", {"payment_currency": "fUSDC-sepolia"})["notes"]
    form.fill({**ORDER, "invoice_currency": "USDCn-matic", "payment_currency": "USDCn-matic"})
    review = browser.press("submit")
    sent = browser.press("send")

    assert ["USDCn-matic is a token of Polygon"] == [note.text.partition(",")[0] for note in chosen["payment_currency"]]
    assert 1 == review["panel"].count(chosen["payment_currency"][0].text)
    assert ("review", "Send anyway") == (review["phase"], review["buttons"][0][0])
    assert "1 warning below. Change the answer, or send anyway." == review["banner"]["title"]
    assert ({}, "done", {}) == (other, sent["phase"], sent["notes"])
    assert "moves real money" in sent["panel"]


def test_a_wrong_payee_is_told_as_soon_as_it_is_entered(client: Client) -> None:
    """A note is at the payee until another one is entered; such an order is not sent, and each fault is told once."""
    form = PaymentForm(client)
    browser = Browser(form)
    typed = browser.post("change", {"payee": TOKEN})["notes"]
    other = browser.post("change", {"payee": ORDER["payee"]})["notes"]
    form.fill({**ORDER, "payee": TOKEN})
    with pytest.raises(InvalidInput, match="The payee is the token fUSDC-sepolia"):
        form.submit(anyway=True)

    assert ["The payee is the token fUSDC-sepolia"] == [note.text.partition(",")[0] for note in typed["payee"]]
    assert {} == other


def test_rate_and_policy_of_a_payment_form_decide_its_verdict(client: Client) -> None:
    """Status, card and findings are those that were asked for, and not those of the payment alone."""
    policy = PaymentPolicy(rates={("fUSDC-sepolia", "USD"): Decimal(1)})
    options: list[dict[str, Any]] = [{}, {"rate": "1"}, {"rate": "2"}, {"policy": policy}]
    for given, kind in zip(options, ("warning", "success", "error", "success"), strict=True):
        form = PaymentForm(client, **given)
        browser = Browser(form)
        form.fill({**ORDER, "invoice_currency": "USD"})
        payment = form.submit(anyway=True)
        expected = payment.card(**given)
        view = browser.messages[-1]["content"]

        assert expected.findings == form.findings
        assert kind == view["banner"]["kind"]
        assert expected.html_for_form(lambda _: "") in view["panel"] or expected.verdict == "look"


def test_the_rate_of_a_payment_form_is_checked_at_once(client: Client) -> None:
    """A wrong rate is told before anything is sent, by the walkthrough, too."""
    for kind in (PaymentForm, Walkthrough):
        with pytest.raises(InvalidInput, match="rate: give a positive number"):
            kind(client, rate=0.5)  # type: ignore[arg-type]


def test_secrets_go_to_no_browser(client: Client) -> None:
    """A page that is drawn again gets all values but secrets; of these, the names of the held ones."""
    _, browser = opened(client)
    view = browser.post("start")

    assert ({"ssn": ""}, PAYER["email"]) == (view["held"], view["values"]["email"])
    assert "ssn" not in view["values"]
    assert PAYER["ssn"] not in json.dumps(view)


def test_secrets_are_dropped_when_they_are_sent(client: Client) -> None:
    """After a successful submission secrets have to be typed again; other values stay."""
    form, browser = opened(client, client_user_id="form-drops")
    form.submit()
    again = browser.press("edit")

    assert ({}, PAYER["city"]) == (again["held"], again["values"]["city"])
    assert ["ssn"] == [found.field for found in form.findings]
    assert "ssn" not in again["notes"]  # not left yet


def test_unknown_names_fill_in_nothing(client: Client) -> None:
    """A wrong name raises with a suggestion, and no value is set."""
    form = PayerForm(client)
    with pytest.raises(InvalidInput, match="Did you mean first_name") as caught:
        form.fill(first_nam="John", city="Paris")

    assert ("first_nam",) == tuple(problem.field for problem in caught.value.fields)
    assert "<PayerForm: 0 of 18 fields>" == repr(form)


@pytest.mark.parametrize("given", ["987-65-4329", 3, [PAYER]])
def test_what_has_no_names_fills_in_nothing(client: Client, given: Any) -> None:
    """The error says what is expected, and repeats nothing. Before, Python's own told of a sequence's elements."""
    with pytest.raises(InvalidInput, match="expected a request object or a mapping, got a") as caught:
        PayerForm(client).fill(given)

    assert "987" not in str(caught.value)


def test_objects_fill_forms(client: Client) -> None:
    """A payer object fills in all its fields, its secret included."""
    form = PayerForm(client)
    form.fill(Payer(**PAYER))  # type: ignore[arg-type]  # as any keyword fields

    assert ("<PayerForm: 14 of 18 fields>", 0) == (repr(form), len(form.findings))


def test_clearing_forgets(client: Client) -> None:
    """A cleared form holds no value and no result."""
    form, _ = opened(client, client_user_id="form-clear")
    form.submit()
    form.clear()

    assert ("<PayerForm: 0 of 18 fields>", None, None, False) == (repr(form), form.result, form.error, form.done)


@pytest.mark.parametrize("kind", [PayerForm, BankDetailsForm, PaymentForm])
def test_forms_need_a_client(kind: type[Form]) -> None:
    """Anything but a client raises at once."""
    with pytest.raises(InvalidInput, match="first argument must be a client"):
        kind("https://api.example.com")  # type: ignore[arg-type]  # the mistake is the point


def test_bank_details_wait_for_a_payer(client: Client) -> None:
    """Without a payer nothing can be sent; a bad id raises."""
    form = BankDetailsForm(client)
    form.fill(BANK_DETAILS)
    with pytest.raises(InvalidInput, match="Register the payer first"):
        form.submit()
    with pytest.raises(InvalidInput, match="client_user_id"):
        form.client_user_id = ".."

    assert form.waits_for


HOLDER = {
    "account_name": "John Doe",
    "beneficiary_type": "individual",
    "date_of_birth": PAYER["dateOfBirth"],
    "address_line1": PAYER["addressLine1"],
    "city": PAYER["city"],
    "state": PAYER["state"],
    "postal_code": PAYER["postcode"],
    "country": PAYER["country"],
}
"""What a box that says that payer and holder are the same fills in."""


def onboarded(client: Client, client_user_id: str, **changes: Any) -> Walkthrough:
    """Return a walkthrough whose payer is onboarded, and whose bank details are empty."""
    walk = Walkthrough(client)
    walk.payer.fill(PAYER, client_user_id=client_user_id, **changes)
    walk.payer.submit(anyway=True)
    return walk


def filled(form: Form) -> dict[str, str]:
    """Return the values of a form that are not empty."""
    return {name: value for name, value in form._entries.visible_values().items() if value}


def test_the_payer_is_the_holder_if_somebody_says_so(client: Client) -> None:
    """Ticked, the box fills in the holder, and nothing else; unticked again, it removes what it filled in."""
    form = onboarded(client, "form-holder").bank_details
    form.holder_is_payer = True
    ticked = (form.holder_is_payer, filled(form), form._entries.secrets)
    form.holder_is_payer = False

    assert (True, HOLDER, []) == ticked
    assert (False, {}, 0) == (form.holder_is_payer, filled(form), len(form._entries.touched))


def test_the_box_keeps_what_somebody_typed(client: Client) -> None:
    """A field that has a value is not filled in; one that was changed afterwards is not cleared."""
    form = onboarded(client, "form-typed").bank_details
    form.fill(account_name="J. Doe")
    form.holder_is_payer = True
    before = filled(form)
    form.fill(state="NJ", iban="DE89370400440532013000")
    form.holder_is_payer = False

    assert HOLDER | {"account_name": "J. Doe"} == before
    assert {"account_name": "J. Doe", "state": "NJ"} == filled(form)
    assert ["iban"] == form._entries.secrets


ADDRESS = {"address_line1", "address_line2", "city", "state", "postal_code", "country"}


@pytest.mark.parametrize("typed", sorted(ADDRESS))
def test_two_addresses_are_not_mixed(client: Client, typed: str) -> None:
    """Whoever typed part of an address completes it; the payer's is filled in only where there is none."""
    form = onboarded(client, "form-mixed").bank_details
    browser = Browser(form)
    form.fill({typed: "DE"})
    ticked = browser.post("tick", is_ticked=True)
    without = filled(form)
    browser.post("tick", is_ticked=False)
    form.fill({typed: None})
    browser.post("tick", is_ticked=True)

    others = {name: value for name, value in HOLDER.items() if name not in ADDRESS}
    assert others | {typed: "DE"} == without
    told = "3 fields filled in. Part of an address was there already, so it stays: complete it."
    assert (True, told) == tuple(ticked["box"])
    assert HOLDER == filled(form)


@pytest.mark.parametrize(
    ("company", "expected"),
    [
        ("Example Corporation", "Example Corporation"),
        ("", None),  # a person's name would be a guess
    ],
)
def test_a_business_is_the_holder_by_its_name(client: Client, company: str, expected: str | None) -> None:
    """The account of a business carries the company's name, never that of the person who signs for it."""
    form = onboarded(client, "form-business", beneficiary_type="business", company_name=company).bank_details
    form.holder_is_payer = True

    assert ("business", expected) == (filled(form)["beneficiary_type"], filled(form).get("account_name"))


@pytest.mark.parametrize(
    ("changes", "is_ticked"),
    [
        ({}, True),  # the same data again
        ({"city": "Albany"}, False),  # other data of the same payer
        ({"client_user_id": "form-next-2"}, False),  # another payer
    ],
)
def test_a_new_payer_unticks_the_box(client: Client, changes: dict[str, str], is_ticked: bool) -> None:
    """What was said of one payer is not said of the next, and nothing of the former is left."""
    walk = onboarded(client, "form-next")
    walk.bank_details.holder_is_payer = True
    walk.payer.fill(PAYER, **{"client_user_id": "form-next", **changes})
    walk.payer.submit()
    form = walk.bank_details

    assert (is_ticked, HOLDER if is_ticked else {}) == (form.holder_is_payer, filled(form))
    form.holder_is_payer = True
    assert changes.get("city", PAYER["city"]) == filled(form)["city"]


def test_another_id_forgets_the_payer(client: Client) -> None:
    """Bank details of another payer have no box until that payer's data are at hand."""
    form = onboarded(client, "form-forgets").bank_details
    form.fill(BANK_DETAILS)
    form.holder_is_payer = True
    form.client_user_id = "somebody-else"

    assert (False, {}, []) == (form.holder_is_payer, filled(form), form._entries.secrets)
    assert Browser(form).post("start")["box"] is None
    with pytest.raises(InvalidInput, match="holder_is_payer: no payer was registered beside this form"):
        form.holder_is_payer = True


def test_clearing_unticks_the_box(client: Client) -> None:
    """A cleared form says nothing of its holder, and the payer's data are still offered."""
    form = onboarded(client, "form-cleared").bank_details
    form.holder_is_payer = True
    form.clear()

    assert (False, {}, [False, ""]) == (form.holder_is_payer, filled(form), [*Browser(form).post("start")["box"]])


def test_another_account_of_the_same_holder_keeps_the_box(client: Client) -> None:
    """After an account is added, the next one begins with the holder, as said, and the box may still be unticked."""
    form = onboarded(client, "form-again").bank_details
    browser = Browser(form)
    form.fill(currency="USD", account_number="253009233489", routing_number="026013356", bank_name="Example Bank")
    form.holder_is_payer = True
    form.submit()
    again = browser.press("new")
    browser.post("tick", is_ticked=False)

    assert (True, HOLDER) == (again["box"][0], {name: value for name, value in again["values"].items() if value})
    assert {} == filled(form)


def test_the_browser_ticks_the_box(client: Client) -> None:
    """The page shows the box once there is a payer, gets the values, and is told how many fields were filled in."""
    alone = Browser(BankDetailsForm(client, "user-123")).post("start")["box"]
    browser = Browser(onboarded(client, "form-ticks").bank_details)
    offered = browser.post("start")["box"]
    ticked = browser.post("tick", {"bank_name": "Example Bank"}, is_ticked=True)
    typed = browser.post("change", {"city": "Albany"})
    unticked = browser.post("tick", is_ticked=False)

    assert (None, [False, ""], (True, "8 fields filled in."), (False, "7 fields cleared.")) == (
        alone,
        offered,
        ticked["box"],
        unticked["box"],
    )
    assert HOLDER | {"bank_name": "Example Bank"} == {name: value for name, value in ticked["values"].items() if value}
    assert "box" not in typed  # a reply to a change may be older than a click on the box


def test_a_late_tick_does_nothing(client: Client) -> None:
    """A click on the box that arrives after the account was sent, or without a payer at hand, changes nothing."""
    form = onboarded(client, "form-late-tick").bank_details
    form.fill(BANK_DETAILS)
    form.submit()
    sent = Browser(form).post("tick", is_ticked=True)
    alone = Browser(BankDetailsForm(client, "user-123")).post("tick", is_ticked=True)

    assert ("done", (False, "")) == (sent["phase"], sent["box"])
    assert ("open", None, None) == (alone["phase"], alone["box"], form.error)


def test_a_sent_form_is_not_sent_again_unchanged(client: Client) -> None:
    """Running a cell again makes no second payment; after a change it does."""
    form, _ = opened(client, PaymentForm)
    first = form.submit()
    with pytest.raises(InvalidInput, match="Already sent"):
        form.submit()

    assert (first, True) == (form.result, form.done)
    form.fill(amount="11")
    assert first is not form.submit()


def test_a_refusal_after_an_unknown_outcome_does_not_hide_it(start: Callable[..., Started]) -> None:
    """A refused retry proves nothing about the first request; and a new warning needs a confirmation."""
    _, browser, _ = start(close, reply(400, '{"message": "no"}'), kind=PayerForm)
    unknown = browser.submit()
    browser.press("edit")
    browser.post("change", {"postcode": "123"})
    refused = browser.submit()

    assert "unknown" == unknown["phase"]
    assert ("The outcome of the previous request is still unknown.", "") in refused["banner"]["lines"]


def test_markup_of_the_service_is_shown_as_text(start: Callable[..., Started]) -> None:
    """Markup and bidirectional control characters in a response are escaped."""
    answer = {
        "kycStatus": "<img src=x onerror=alert(1)>",
        "agreementStatus": "a\u202eb",
        "agreementUrl": "javascript:1",
    }
    form, browser, _ = start(reply(200, json.dumps(answer)), kind=PayerForm)
    form.submit()
    view = browser.post("start")

    assert "<img" not in view["panel"]
    assert "\u202e" not in json.dumps(view, ensure_ascii=False)
    assert [] == [button for button in view["buttons"] if button[2]]


# What fields ask for, follow, take, offer and mask.


@pytest.fixture
def bank(client: Client) -> BankDetailsForm:
    """Return an empty form for bank details."""
    return BankDetailsForm(client, "user-123")


def type_in(form: Any, *touched: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Enter values one after the other in a page; return its last view."""
    browser = Browser(form)
    view: dict[str, Any] = {}
    for values in touched:
        view = browser.post("change", values, **more)
    return view


@pytest.mark.parametrize(
    ("currency", "rails", "note"),
    [
        ("inr", "swift", "Chosen as usual: the service lists INR over swift rails."),
        ("USD", "local", "Chosen as usual: the service lists USD over local, swift and wire rails."),
        ("ISK", "", None),  # not listed
    ],
)
def test_rails_follow_the_currency(bank: BankDetailsForm, currency: str, rails: str, note: str | None) -> None:
    """The usual rails of a currency are chosen, and the form says so and why."""
    view = type_in(bank, {"currency": currency})

    assert (currency, rails) == (view["values"]["currency"], view["values"].get("rails", ""))
    assert note == next((each.text for each in view["notes"].get("rails", ())), None)


@pytest.mark.parametrize("currency", sorted({currency for currency, _ in requirements()}))
def test_no_listed_currency_is_held_back_for_its_rails(bank: BankDetailsForm, currency: str) -> None:
    """Whoever picks a currency need not know its rails: they are among those that the service lists."""
    type_in(bank, {"currency": currency})

    assert "rails_unusual" not in {finding.code for finding in bank.findings}
    assert bank._entries.visible_values()["rails"] in listed_rails(currency)


def test_rails_follow_a_change_of_the_currency(bank: BankDetailsForm) -> None:
    """The form takes back what it chose, also when fields are filled in from Python or left without a change."""
    rails = []
    for values in ({"currency": "INR"}, {"rails": None}, {"currency": "EUR"}, {"currency": ""}, {"currency": "AUD"}):
        type_in(bank, values)
        rails.append(bank._entries.visible_values()["rails"])
    bank.fill(currency="USD")

    assert ["swift", "swift", "local", "", "swift"] == rails
    assert "local" == bank._entries.visible_values()["rails"]


@pytest.mark.parametrize("entered", [{"rails": "wire"}, {"rails": "local"}])
def test_rails_that_a_person_chose_stay(bank: BankDetailsForm, entered: dict[str, str]) -> None:
    """What somebody chose is not rewritten by another currency, whichever came first; a warning says so."""
    type_in(bank, {"currency": "INR"}, entered, {"currency": "AUD"})
    after = bank._entries.visible_values()["rails"]
    bank.clear()
    view = type_in(bank, entered, {"currency": "INR"})

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
        ("GBP", None, ("sort_code", "iban", "account_number"), ()),  # either of two ways
        ("EUR", "swift", ("iban", "swift_bic"), ("iban", "swift_bic")),
        ("ISK", None, USUAL_FIELDS, ()),  # not listed
        ("", None, (), ()),
    ],
)
def test_a_view_has_the_fields_that_the_currency_needs(
    bank: BankDetailsForm, currency: str, rails: str | None, fields: tuple[str, ...], needed: tuple[str, ...]
) -> None:
    """The page shows these fields, marks those without an alternative, and the sentence above them says which."""
    names, marked, sentence = type_in(bank, {"currency": currency}, {"rails": rails})["needs"]

    assert (fields, needed) == (names, marked)
    assert sentence


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("country", "germ", "DE"),  # the only one
        ("country", "united", "united"),  # several
    ],
)
def test_a_text_that_is_taken_stands_for_its_code(client: Client, name: str, text: str, value: str) -> None:
    """With Tab or Enter a page takes the code that a text means; without them, the text stays."""
    form = PayerForm(client)
    taken = type_in(form, {name: text}, taken=[name])["values"][name]
    left = type_in(form, {name: text})["values"][name]

    assert (value, text) == (taken, left)


@pytest.mark.parametrize(
    ("record", "name", "text", "label", "value"),
    [
        ({"country": "US"}, "phone", "(212) 555-1234", "Use +12125551234", "+12125551234"),
        ({}, "country", "USA", "Use US", "US"),
    ],
)
def test_a_reading_is_offered_and_taken(
    client: Client, record: dict[str, str], name: str, text: str, label: str, value: str
) -> None:
    """The note offers what a text means; a click or Tab writes it, and another click brings the text back."""
    form = PayerForm(client)
    browser = Browser(form)
    offered = browser.post("change", {**record, name: text})
    taken = browser.post("use", name=name)
    undone = browser.post("use", name=name)
    by_tab = browser.post("change", {name: text}, taken=[name])

    assert (label, text) == (offered["notes"][name][0].use, offered["values"][name])
    assert {name: value} == taken["values"]
    assert [("info", "Undo")] == [(note.severity, note.use) for note in taken["notes"][name]]
    assert [{name: text}, {name: value}] == [undone["values"], by_tab["values"]]


@pytest.mark.parametrize(
    ("typed", "titles", "gone"),
    [
        ({"currency": "GBP"}, {"state": "County"}, {"Chase", "CA", "90723"}),
        ({"country": "DE"}, {"state": "Region"}, {"Chase", "CA", "90723"}),
        ({"currency": "XAF"}, {"state": "Region"}, {"Chase", "CA", "90723"}),
        ({"currency": "GBP", "country": "US"}, {}, set()),
    ],
)
def test_labels_and_examples_follow_country_and_currency(
    client: Client, typed: dict[str, str], titles: dict[str, str], gone: set[str]
) -> None:
    """In a form for pounds there is no bank of the US; Germany has no states as the US have; so messages say it."""
    form = BankDetailsForm(client, "user-123")
    browser = Browser(form)
    local = browser.post("change", typed)["local"]
    drawn = form_fields(BankDetails)

    assert titles.items() <= {name: title for name, (title, _) in local.items()}.items()
    assert gone == {"Chase", "CA", "90723"} & {drawn[name].example for name in local}
    assert not {"Chase", "CA", "90723"} & {example for _, example in local.values()}
    assert [form._entries.label(name) for name in titles] == [*titles.values()]


def test_country_is_asked_before_what_follows_from_it() -> None:
    """A phone number and a postcode are read by the country."""
    fields = [*form_fields(Payer)]

    assert fields.index("country") < min(map(fields.index, ("phone", "state", "postcode")))


def test_a_note_that_can_mean_nothing_offers_nothing(client: Client) -> None:
    """A click of a page that is not up to date then changes nothing."""
    browser = Browser(PayerForm(client))
    view = browser.post("change", {"date_of_birth": "03/04/1985"})
    after = browser.post("use", name="date_of_birth")

    assert "" == view["notes"]["date_of_birth"][0].use
    assert {"date_of_birth": "03/04/1985"} == after["values"]


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
    assert {name: shown} == type_in(bank, {name: value})["held"]


@pytest.mark.parametrize(("kind", "values"), [(PayerForm, PAYER), (BankDetailsForm, BANK_DETAILS), (PaymentForm, {})])
def test_what_a_form_is_drawn_from_is_small(client: Client, kind: type[Any], values: dict[str, str]) -> None:
    """Its spec and its first view take at most 4 kB each, whatever the currency."""
    form = kind(client)
    form.fill(values)
    view = Browser(form).post("start")

    assert len(json.dumps(form.get_state(), default=repr)) <= 12_000
    assert len(json.dumps(form.spec)) <= 4_000
    assert len(json.dumps(view)) <= 4_000


def test_a_page_begins_with_one_message_and_one_reply(client: Client) -> None:
    """The reply has the views of all forms, and the code only if the page lacks it."""
    sent = []

    class Watched(Walkthrough):
        def send(self, content: Any, buffers: Any = ()) -> None:
            sent.append([content["type"], *map(gzip.decompress, buffers)])

    walk = Watched(client)
    for needs_code in (True, False):
        walk._on_page_message(walk, {"type": "start", "page": "page", "needs_code": needs_code}, [])
    views = json.loads(sent[1][1])

    assert ["payer", "bank_details", "payment"] == [view["form"] for view in views]
    assert [("start", 2), ("start", 1)] == [(kind, len(parts)) for kind, *parts in sent]
    assert b"export { begin };" in sent[0][2]


def test_a_page_is_sent_what_changes_behind_its_beginning(client: Client) -> None:
    """Also if a cell changes the form in another thread at that moment: else the page would show what was."""
    form = PayerForm(client)
    sent: list[str] = []

    class Slow(Browser):
        def send(self, data: dict[str, Any], buffers: Sequence[bytes] | None = None, **more: Any) -> None:
            if buffers:  # the beginning
                cell.start()
                cell.join(0.2)
            super().send(data, buffers, **more)
            sent.append(self.messages[-1]["content"]["values"].get("city", ""))

    cell = threading.Thread(target=form.fill, kwargs={"city": "Albany"})
    Slow(form).post("start")
    cell.join()

    assert ["", "Albany"] == sent


def test_a_layout_is_sent_without_what_is_not_set(client: Client) -> None:
    """Nor does a form with a layout of its own lose it."""
    form, wide = PayerForm(client), PayerForm(client, layout={"width": "50%"})
    form.layout.height = "9em"

    assert {"height"} == {name for name in form.layout.get_state() if not name.startswith("_")}
    assert ("50%", None) == (wide.layout.width, form.layout.width)
