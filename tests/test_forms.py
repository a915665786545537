"""The forms without a browser: their fields, their traits, what follows what, and the
privacy of their values.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Any

import ipywidgets
import pytest

import payerkit
from example_addresses import TOKEN
from far_end import Behaviour, FarEnd, reply
from filled_forms import ORDER, Started, filled, missing
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
from payerkit.checks.requirements import REQUIREMENTS, listed_rails
from payerkit.client import Client, Retries
from payerkit.errors import FieldProblem, NotFound
from payerkit.findings import Findings
from payerkit.forms.drawing import summary
from payerkit.forms.entries import Entries
from payerkit.forms.form import Form
from payerkit.masking import masking_of
from payerkit.models.base import RequestModel
from payerkit.models.fields import field as described
from payerkit.models.fields import fields_of
from payerkit.models.formats import Text
from payerkit.wire import our_name, wire_name
from published import ANSWERS, BANK_DETAILS, PAYER, TYPED_ACCOUNT, TYPED_PAYER

FORMS: list[type[Form]] = [PayerForm, BankDetailsForm, PaymentForm]
PAYER_FIELDS = Payer.model_fields
OF_PAYER = f"<PayerForm: {{}} of {len(PAYER_FIELDS)} fields>"
OF_MODELS = [(PayerForm, Payer), (BankDetailsForm, BankDetails)]


@pytest.fixture
def client(shared: Client) -> Client:
    """Return a client of the sandbox that tests share."""
    return shared


def drawn(form: Form) -> dict[str, dict[str, Any]]:
    """Return the fields that a page draws before it knows any value, by name."""
    return {
        field["name"]: field for section in form.sections for field in section["fields"]
    }


@pytest.mark.parametrize(("kind", "model"), OF_MODELS)
def test_every_field_has_its_place(
    client: Client, kind: type[Form], model: type[RequestModel]
) -> None:
    """A form shows every field once, with a label and help, in a section."""
    form = kind(client)
    names = [field["name"] for section in form.sections for field in section["fields"]]

    assert sorted(model.model_fields) == sorted(names)
    assert all(field["label"] and field["help"] for field in drawn(form).values())
    assert all(section["title"] for section in form.sections)


@pytest.mark.parametrize(("kind", "model"), OF_MODELS)
def test_secrets_are_typed_into_secret_fields(
    client: Client, kind: type[Form], model: type[RequestModel]
) -> None:
    """What is masked everywhere is hidden, or masked when it is left: an account number
    is seen while it is typed.
    """
    kinds = {name: field["kind"] for name, field in drawn(kind(client)).items()}
    masking = {name: masking_of(name) for name in model.model_fields}

    assert {name for name in masking if masking[name] == "hidden"} == {
        name for name in kinds if kinds[name] == "secret"
    }
    assert {name for name in masking if masking[name] == "account"} == {
        name for name in kinds if kinds[name] == "number"
    }


@pytest.mark.parametrize(("kind", "model"), OF_MODELS)
def test_choices_are_those_of_the_model(
    client: Client, kind: type[Form], model: type[RequestModel]
) -> None:
    """A list of choices is drawn for each field whose type has a few values."""
    typed = {name for name, field in fields_of(model).items() if field.options}
    selects = {
        name for name, field in drawn(kind(client)).items() if field["kind"] == "select"
    }

    assert typed == selects


def test_a_new_field_appears_by_itself(client: Client) -> None:
    """A field of the model is enough for the form."""

    class Wider(Payer):
        """A payer with one more field."""

        occupation: Annotated[
            Text | None,
            described(
                title="Occupation",
                help="What they do.",
                example="baker",
                section="Compliance",
            ),
        ] = None

    class WiderForm(PayerForm):
        """Its form."""

        model = Wider

    form = WiderForm(client, occupation="baker")

    assert "Occupation" == drawn(form)["occupation"]["label"]
    assert f"<WiderForm: 1 of {len(PAYER_FIELDS) + 1} fields>" == repr(form)


def test_country_is_asked_before_what_follows_from_it(client: Client) -> None:
    """A phone number and a postcode are read by the country."""
    names = [*drawn(PayerForm(client))]

    assert names.index("country") < min(
        names.index(name) for name in ("phone", "state", "postcode")
    )


# As ipywidgets users expect it


def test_field_names_as_keywords_fill_in(client: Client) -> None:
    """Options of a widget pass beside them."""
    form = PayerForm(client, email="a@example.com", layout={"width": "50%"})
    walk = Walkthrough(client, client_user_id="keyword-1")
    account = BankDetailsForm(client, "user-123", currency="INR", disabled=True)

    assert (OF_PAYER.format(1), "50%") == (repr(form), form.layout.width)
    assert OF_PAYER.format(1) == repr(walk.payer)
    assert ("<BankDetailsForm: 2 of 26 fields>", True) == (
        repr(account),
        account.disabled,
    )


@pytest.mark.parametrize("kind", [*FORMS, Walkthrough])
@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("nonsense", ""),
        ("layuot", "Did you mean layout?"),
    ],
)
def test_an_unknown_option_is_refused(
    client: Client, kind: type[Any], name: str, guess: str
) -> None:
    """It is named, with what was probably meant; before, it was swallowed."""
    with pytest.raises(InvalidInput, match=f"no field or option {name}.*{guess}"):
        kind(client, **{name: 1})


def test_an_attribute_of_a_form_is_not_lost(client: Client) -> None:
    """The name of a field fills it in; any other name raises, and so does what only the
    form itself sets.
    """
    form = filled(client)
    form.city = "Albany"
    with pytest.raises(InvalidInput, match="Did you mean email"):
        form.emial = "a@example.com"
    with pytest.raises(InvalidInput, match="value cannot be set"):
        form.value = None

    assert "Albany" == form.value.city


@pytest.mark.parametrize(("kind", "model"), [*OF_MODELS, (PaymentForm, PaymentOrder)])
def test_the_value_is_the_request_without_sending_it(
    client: Client, kind: type[Form], model: type[RequestModel]
) -> None:
    """It is the object that the function for the call takes; None while a field is
    wrong; what was sent after sending.
    """
    form = kind(client)
    empty = form.value
    form = filled(client, kind)

    assert empty is None
    assert isinstance(form.value, model)
    assert (None, False) == (form.result, form.done)


def test_a_value_with_an_error_is_none(client: Client) -> None:
    """Until the field is right again."""
    form = filled(client)
    form.fill(email="nobody")
    wrong = form.value
    form.fill(email="nobody@example.com")

    assert (None, "nobody@example.com") == (wrong, form.value.email)


def test_what_was_sent_stays_the_value(client: Client) -> None:
    """Secrets are dropped from the fields, and stay masked in the value."""
    form = filled(client, client_user_id="value-sent")
    form.submit()

    assert "value-sent" == form.value.client_user_id
    assert PAYER["ssn"] not in repr(form.value)


def test_traits_can_be_observed(client: Client) -> None:
    """Each change of value, findings, result, error, busy and done is told."""
    form = PayerForm(client)
    seen: list[str] = []
    form.observe(lambda change: seen.append(change["name"]))
    form.fill(PAYER, client_user_id="observed", email="nobody")
    with pytest.raises(InvalidInput):
        form.submit()
    refused = [*seen]
    seen.clear()
    form.fill(email="nobody@example.com")
    form.submit()

    assert ["findings", "error"] == refused
    assert ["findings", "value", "error", "busy", "result", "busy", "done"] == seen


def test_an_observer_may_read_the_form(client: Client) -> None:
    """Whoever is told that a form is done can read it."""
    form = filled(client, client_user_id="observer")
    seen: list[object] = []
    form.observe(lambda _: seen.append((form.result, form.done, repr(form))), "done")
    form.submit()

    assert [(form.result, True, "<PayerForm: done>")] == seen


def test_interactive_output_works_with_a_form(client: Client) -> None:
    """A function is called with the value whenever it changes."""
    form = PayerForm(client)
    seen: list[Any] = []
    ipywidgets.interactive_output(lambda x: seen.append(x), {"x": form})  # noqa: PLW0108 - it is called by keyword
    form.fill(PAYER)

    assert [None, form.value] == seen


def test_a_page_follows_done_and_busy_alone(client: Client) -> None:
    """These two are synced, for `jslink`; what was entered is not."""
    form = filled(client)

    assert {"done", "busy", "disabled"} <= {*form.keys}
    assert set() == {"value", "findings", "result", "error"} & {*form.keys}


def test_a_notebook_without_a_kernel_says_what_the_form_is_for(client: Client) -> None:
    """As GitHub shows it, or an exported page."""
    form = filled(client)

    assert (
        "A form for a payer: run the cell to see it."
        == (form._repr_mimebundle_()[0]["text/plain"])
    )


# Filling in and sending


def test_a_payer_is_onboarded_from_python(client: Client) -> None:
    """The values are sent, and the response is returned and kept."""
    form = filled(client, client_user_id="form-python")
    status = form.submit()

    assert status is form.result
    assert (None, "form-python", True, "<PayerForm: done>") == (
        form.error,
        form.client_user_id,
        form.done,
        repr(form),
    )
    assert status.user_id == payerkit.get_payer_status(client, "form-python").user_id


def test_asking_again_updates_the_status(client: Client) -> None:
    """Its response then says whose move it is."""
    form = filled(client, client_user_id="form-asks")
    with pytest.raises(InvalidInput, match="No payer was registered yet"):
        form.ask_again()
    form.submit()
    moves = [form.result.explain().whose_move]
    client.sandbox.complete_agreement("form-asks")
    client.sandbox.complete_kyc("form-asks", status="pending")
    form.ask_again()
    moves.append(form.result.explain().whose_move)
    client.sandbox.complete_kyc("form-asks")
    form.ask_again()
    moves.append(form.result.explain().whose_move)

    assert ["payer", "service", "nobody"] == moves


def test_errors_block(client: Client) -> None:
    """Nothing is sent with an error, and the error is kept, too."""
    form = filled(client, email="john.doe", country="USA")
    with pytest.raises(InvalidInput, match="2 fields need attention"):
        form.submit(anyway=True)

    assert ["country", "email"] == sorted(each.field for each in form.error.fields)
    assert form.result is None


def test_warnings_need_a_confirmation(client: Client) -> None:
    """Without it, nothing is sent, and the error says how to send anyway."""
    form = filled(client, client_user_id="form-warned", postcode="1234")
    with pytest.raises(
        InvalidInput, match=r"1 warning\. Nothing was sent(.|\n)*submit\(anyway=True\)"
    ):
        form.submit()
    form.submit(anyway=True)

    assert form.done


def test_a_refusal_marks_its_field_until_it_changes(
    start: Callable[..., Started],
) -> None:
    """What the service says about a field is a finding until the value changes."""
    problem = (
        '{"message": "no", "errors": [{"field": "amount", "message": "Above the'
        ' limit."}]}'
    )
    form, _ = start(reply(400, problem), kind=PaymentForm)
    with pytest.raises(Refused):
        form.submit()
    refused = [(each.field, each.message) for each in form.findings.errors]
    form.fill(amount="11")

    assert [("amount", "Above the limit.")] == refused
    assert [] == [*form.findings.errors]


def test_a_service_has_its_own_words_about_an_empty_field() -> None:
    """Only where it has none, or a check found the field empty, it is "Enter ..."."""
    entries = Entries(BankDetails, lambda _: Findings([]))
    words = "Give the IBAN, or the account number."
    said = FieldProblem("iban", "iban", words, "required")

    assert f"IBAN: {words}" == summary(said, entries)
    assert "Enter the IBAN." == summary(replace(said, message=""), entries)


def test_a_payer_that_is_not_there_is_told(client: Client) -> None:
    """The error of the call is raised, and kept."""
    form = BankDetailsForm(client, "form-nobody")
    form.fill(BANK_DETAILS)
    with pytest.raises(NotFound):
        form.submit()

    assert isinstance(form.error, NotFound)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"city": "  Albany "}, "Albany"),  # blanks are nobody's intention
        ({"client_user_id": " a "}, " a "),  # an id is sent as typed
        ({"address_line2": ""}, None),  # an empty text is no value
        ({"addressLine2": None}, None),  # as from a mapping, by the wire name
    ],
)
def test_a_form_takes_what_a_person_writes(
    client: Client, given: dict[str, str | None], expected: str | None
) -> None:
    """Blanks around a value are left out, except in an id; "" and None clear it."""
    form = filled(client)
    form.fill(given)
    (name,) = given

    assert expected == form.value.to_dict(reveal=True).get(wire_name(our_name(name)))


def test_real_money_is_a_warning_in_a_sandbox(client: Client) -> None:
    """It is a finding as soon as the currency is chosen, until another one is."""
    form = PaymentForm(client, payment_currency="USDCn-matic")
    first = [each.code for each in form.findings if each.field == "payment_currency"]
    form.fill(payment_currency="fUSDC-sepolia")
    then = [each.code for each in form.findings if each.field == "payment_currency"]

    assert (1, 0) == (len(first), len(then))


def test_a_wrong_payee_is_not_sent(client: Client) -> None:
    """A token is no payee."""
    form = filled(client, PaymentForm, payee=TOKEN)
    with pytest.raises(InvalidInput, match="The payee is the token fUSDC-sepolia"):
        form.submit(anyway=True)


def test_rate_and_policy_of_a_payment_form_decide_its_verdict(client: Client) -> None:
    """The findings are those that were asked for, and not those of the payment
    alone.
    """
    policy = PaymentPolicy(rates={("fUSDC-sepolia", "USD"): Decimal(1)})
    options: list[dict[str, Any]] = [
        {},
        {"rate": "1"},
        {"rate": "2"},
        {"policy": policy},
    ]
    verdicts = []
    for given in options:
        form = PaymentForm(client, **given)
        form.fill({**ORDER, "invoice_currency": "USD"})
        payment = form.submit(anyway=True)
        verdicts.append(form.findings.verdict)
        assert payment.card(**given).findings == form.findings

    assert ["look", "ok", "stop", "ok"] == verdicts


@pytest.mark.parametrize("kind", [PaymentForm, Walkthrough])
def test_the_rate_of_a_payment_form_is_checked_at_once(
    client: Client, kind: type[Any]
) -> None:
    """A wrong rate is told before anything is sent, by the walkthrough, too."""
    with pytest.raises(InvalidInput, match="rate: give a positive number"):
        kind(client, rate=0.5)


def test_secrets_are_dropped_when_they_are_sent(client: Client) -> None:
    """After a successful submission secrets have to be typed again; other values
    stay.
    """
    form = filled(client, client_user_id="form-drops")
    form.submit()
    form.fill(city="Albany")

    assert ["ssn"] == [finding.field for finding in form.findings.errors]


def test_unknown_names_fill_in_nothing(client: Client) -> None:
    """A wrong name raises with a suggestion, and no value is set."""
    form = PayerForm(client)
    with pytest.raises(InvalidInput, match="Did you mean first_name") as caught:
        form.fill(first_nam="John", city="Paris")

    assert ("first_nam",) == tuple(problem.field for problem in caught.value.fields)
    assert OF_PAYER.format(0) == repr(form)


@pytest.mark.parametrize("given", ["987-65-4329", 3, [PAYER]])
def test_what_has_no_names_fills_in_nothing(client: Client, given: Any) -> None:
    """The error says what is expected, and repeats nothing."""
    with pytest.raises(
        InvalidInput, match="expected a request object or a mapping, got a"
    ) as caught:
        PayerForm(client).fill(given)

    assert "987" not in str(caught.value)


def test_objects_fill_forms(client: Client) -> None:
    """A payer object fills in all its fields, its secret included; a keyword wins, by
    either name of the field.
    """
    payer = Payer(**PAYER)
    form = PayerForm(client)
    form.fill(payer, first_name="Jane")

    assert payer.replace(first_name="Jane") == form.value


def test_clearing_forgets(client: Client) -> None:
    """A cleared form holds no value and no result."""
    form = filled(client, client_user_id="form-clear")
    form.submit()
    form.clear()

    assert (OF_PAYER.format(0), None, None, None, False) == (
        repr(form),
        form.value,
        form.result,
        form.error,
        form.done,
    )


def test_a_sent_form_is_not_sent_again_unchanged(client: Client) -> None:
    """Running a cell again makes no second payment; after a change it does."""
    form = filled(client, PaymentForm)
    first = form.submit()
    with pytest.raises(InvalidInput, match="Already sent"):
        form.submit()

    assert (first, True) == (form.result, form.done)
    form.fill(amount="11")
    assert first is not form.submit()


@pytest.mark.parametrize("kind", FORMS)
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


def test_nothing_typed_is_in_any_state(client: Client) -> None:
    """Widget state, reprs and the attributes that a variable viewer lists hold no
    value, nor one of the holder.
    """
    changes = {**TYPED_PAYER}
    del changes["client_user_id"]
    walk = onboarded(client, "form-at-hand", **changes)
    walk.bank_details.use_payer_as_holder()
    walk.bank_details.fill(account_number=TYPED_ACCOUNT["account_number"])
    forms = (walk, walk.payer, walk.bank_details)
    shown = [repr(each) for form in forms for each in (form, *vars(form).values())]
    states = [json.dumps(form.get_state(), default=repr) for form in forms]
    public = {"beneficiary_type", "client_user_id"}
    private = {
        value
        for name, value in (TYPED_PAYER | TYPED_ACCOUNT).items()
        if len(value) > 3 and name not in public
    }

    assert [] == [value for value in private for text in states if value in text]
    assert [] == [
        value
        for value in private
        for text in shown
        if value in text and value not in repr(walk.payer.value)
    ]


# What follows what


def onboarded(client: Client, client_user_id: str, **changes: Any) -> Walkthrough:
    """Return a walkthrough whose payer is onboarded, and whose bank details are
    empty.
    """
    walk = Walkthrough(client)
    walk.payer.fill(PAYER, client_user_id=client_user_id, **changes)
    walk.payer.submit(anyway=True)
    return walk


ACCOUNT = {
    "currency": "USD",
    "account_number": "253009233489",
    "routing_number": "026013356",
    "bank_name": "Example Bank",
}
"""The fields of an account that say nothing of its holder."""
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
"""What is filled in if the payer is the account holder, too."""
ADDRESS = {"address_line1", "address_line2", "city", "state", "postal_code", "country"}


def test_the_payer_is_the_holder_if_somebody_says_so(client: Client) -> None:
    """Nothing is taken from the payer before; then the empty fields are."""
    form = onboarded(client, "form-holder").bank_details
    form.fill(ACCOUNT)
    before = missing(form)
    form.fill(account_name="J. Doe")
    form.use_payer_as_holder()
    holder = HOLDER | {"account_name": "J. Doe"}

    assert holder.keys() - {"state"} == before
    assert BankDetails(**ACCOUNT, **holder, rails="local") == form.value


@pytest.mark.parametrize("typed", sorted(ADDRESS))
def test_two_addresses_are_not_mixed(client: Client, typed: str) -> None:
    """Whoever typed part of an address completes it; the payer's is filled in only
    where there is none.
    """
    form = onboarded(client, "form-mixed").bank_details
    form.fill(ACCOUNT, **{typed: "DE"})
    form.use_payer_as_holder()

    assert ADDRESS - {typed, "state", "address_line2"} == missing(form)


@pytest.mark.parametrize(
    ("company", "name"),
    [
        ("Example Corporation", "Example Corporation"),
        ("", None),  # a person's name would be a guess
    ],
)
def test_a_business_is_the_holder_by_its_name(
    client: Client, company: str, name: str | None
) -> None:
    """The account of a business carries the company's name, never that of the person
    who signs for it.
    """
    business = {"beneficiary_type": "business", "company_name": company}
    form = onboarded(client, "form-business", **business).bank_details
    form.fill(ACCOUNT)
    form.use_payer_as_holder()

    assert name == (form.value and form.value.account_name)
    assert (name is None) == ("account_name" in missing(form))


def test_another_payer_forgets_the_first(client: Client) -> None:
    """Values of one payer are not stored for another, nor are the payer's data kept."""
    form = onboarded(client, "form-forgets").bank_details
    form.fill(BANK_DETAILS)
    form.client_user_id = "somebody-else"

    assert "<BankDetailsForm: 0 of 26 fields>" == repr(form)
    with pytest.raises(InvalidInput, match="No payer was registered beside this form"):
        form.use_payer_as_holder()


def account_in(client: Client, *currencies: str, **values: str) -> BankDetailsForm:
    """Return a form whose account was entered in these currencies, one after the
    other.
    """
    form = BankDetailsForm(client, "user-123")
    form.fill(BANK_DETAILS, **{"currency": None, "rails": None, **values})
    for currency in currencies:
        form.fill(currency=currency)
    return form


@pytest.mark.parametrize(
    ("currencies", "rails"),
    [
        (["inr"], "swift"),
        (["USD"], "local"),
        (["ISK"], None),  # not listed
        (["INR", "EUR"], "local"),  # the form takes back what it chose
        (["INR", "ISK"], None),
    ],
)
def test_rails_follow_the_currency(
    client: Client, currencies: list[str], rails: str | None
) -> None:
    """The usual rails of a currency are chosen, unless somebody chose others."""
    assert rails == account_in(client, *currencies).value.rails


@pytest.mark.parametrize("currency", sorted({currency for currency, _ in REQUIREMENTS}))
def test_no_listed_currency_is_held_back_for_its_rails(
    client: Client, currency: str
) -> None:
    """Whoever picks a currency need not know its rails: they are among those that the
    service lists.
    """
    form = account_in(client, currency)

    assert "rails_unusual" not in {finding.code for finding in form.findings}
    assert form.value.rails in listed_rails(currency)


@pytest.mark.parametrize("rails", ["wire", "local"])
def test_rails_that_a_person_chose_stay(client: Client, rails: str) -> None:
    """What somebody chose is not rewritten by another currency; a warning says so."""
    form = account_in(client, "INR", "AUD", rails=rails)

    assert rails == form.value.rails
    assert ["rails_unusual"] == [
        finding.code for finding in form.findings.warnings if finding.field == "rails"
    ]


# The walkthrough


def test_a_walkthrough_is_a_tab_of_three_forms(client: Client) -> None:
    """Its titles say which steps are done, without a value."""
    walk = Walkthrough(client)
    before = walk.titles
    walk.payer.fill(PAYER, client_user_id="form-walk")
    walk.payer.submit()

    assert isinstance(walk, ipywidgets.Tab)
    assert (walk.payer, walk.bank_details, walk.payment) == walk.children
    assert ("1. Payer", "2. Account", "3. Payment") == before
    assert ("1. Payer: waits", "2. Account", "3. Payment") == walk.titles
    assert "form-walk" == walk.bank_details.client_user_id


@pytest.mark.parametrize("status", [reply(404), reply(500), reply(429)])
def test_a_service_without_the_status_call_keeps_what_it_said(
    connected: Callable[..., Client], status: Behaviour
) -> None:
    """The status call is beyond the specification; a form that cannot ask stays done,
    with the response that it has.
    """
    answers = [reply(200, json.dumps(ANSWERS["create_payer"])), status]
    with FarEnd(answers) as far_end:
        form = filled(connected(far_end.url, retries=Retries(attempts=1)))
        response = form.submit()
        with pytest.raises(payerkit.PayerkitError):
            form.ask_again()

    assert (True, response) == (form.done, form.result)
    assert form.error is not None
