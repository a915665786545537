"""What statuses mean: the table of all words, and the rule for a payer as a whole."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from cases import table
from payerkit import InvalidInput, explain
from payerkit.explanations import explain_payer
from payerkit.models import PayerStatus, PaymentDetail
from payerkit.reference import statuses
from payerkit_sandbox import accounts, payers
from published import ANSWERS


def test_the_table_is_complete() -> None:
    """Each status stands once, and has a meaning, a move, a next step and a source; the
    columns have their types.
    """
    known = statuses()

    assert not known.duplicated(["of", "status"]).any()
    assert {"payer", "payee", "you", "service", "nobody"} == set(known["whose_move"])
    assert not known.drop(columns="ask_again").isna().any(axis=None)
    assert not (known.drop(columns="ask_again") == "").any(axis=None)
    assert ["string"] * 4 + ["bool", "string", "Int64", "string"] == [
        str(dtype) for dtype in known.dtypes
    ]


def test_asking_again_makes_sense_until_a_status_is_final() -> None:
    """A final status has no time to ask again, any other has one; nobody has to move
    only where it is final.
    """
    known = statuses()

    assert (known["final"] == known["ask_again"].isna()).all()
    assert known[known["whose_move"] == "nobody"]["final"].all()
    assert not known[known["whose_move"] == "service"]["final"].any()


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ("kyc", payers.KycState),
        ("agreement", payers.AgreementState),
        ("account", accounts.DetailState),
    ],
)
def test_every_status_of_the_sandbox_is_documented(of: str, words: Any) -> None:
    """What the sandbox returns is explained."""
    assert [] == [word for word in words.__args__ if not explain(word, of).basis]


@table("explained_words")
def test_a_word_is_explained(
    status: str, of: str | None, found_of: str, whose_move: str, is_final: bool
) -> None:
    """What it is of, whose move it is, and whether it is final."""
    found = explain(status, of)

    assert (found_of, whose_move, is_final) == (found.of, found.whose_move, found.final)


def test_a_word_of_several_things_is_refused() -> None:
    """The error says of which; it is not guessed."""
    with pytest.raises(
        InvalidInput, match="Say which: kyc, agreement, account or payment"
    ):
        explain("failed")


def test_an_unknown_word_is_said_to_be_unknown() -> None:
    """It is not guessed: no source, no meaning, and the next step is to ask."""
    found = explain("brand_new\u202e" + "x" * 100, of="kyc")

    assert ("", "Not a documented status of the identity check.") == (
        found.basis,
        found.meaning,
    )
    assert "Ask the service" in found.what_to_do
    assert ("\u202e" in str(found), "x" * 70 in str(found)) == (False, False)


@pytest.mark.parametrize("of", [None, "payment", "request"])
def test_words_of_other_products_are_known(of: str | None) -> None:
    """They are documented, but not of payers and payments, and no guess is offered."""
    found = explain("partially_settled", of)

    assert "of secure payment pages" in found.meaning
    assert "mean" not in found.meaning


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (
            PayerStatus.read({"kycStatus": "pending", "agreementStatus": "signed"}),
            ("payer", "service"),
        ),
        (
            PaymentDetail.read({"payment_detail": {"status": "failed"}}),
            ("account", "payee"),
        ),
        (
            PaymentDetail.read({"payment_detail": {"id": "pd-1"}}),
            ("account", "you"),
        ),  # the response has no status
    ],
)
def test_an_object_is_explained(thing: Any, expected: tuple[str, str]) -> None:
    """An object with a status is explained as what it is."""
    found = explain(thing)

    assert expected == (found.of, found.whose_move)


@pytest.mark.parametrize("thing", [None, "  ", {"status": "failed"}])
def test_what_has_no_status_is_refused(thing: Any) -> None:
    """Anything without a status is an error."""
    with pytest.raises(InvalidInput, match="status: expected a word"):
        explain(thing)


def test_an_unknown_thing_is_refused() -> None:
    """The error lists what a status can be of."""
    with pytest.raises(
        InvalidInput, match="of: expected one of kyc, agreement, account, payment"
    ):
        explain("pending", of="payer")


@table("explained_payers")
def test_a_payer_is_explained(
    kyc: str | None,
    agreement: str | None,
    stated: bool | None,
    accounts: list[str | None] | None,
    whose_move: str,
    is_final: bool,
    is_compliant: bool,
    what_to_do: str,
) -> None:
    """One explanation from all statuses: whose move it is, whether it is final, what to
    do.
    """
    found = explain_payer(kyc, agreement, stated=stated, accounts=accounts)

    assert (whose_move, is_final, is_compliant) == (
        found.whose_move,
        found.final,
        found.compliant,
    )
    assert what_to_do in found.what_to_do
    assert ["kyc", "agreement"] == [part.of for part in found.parts[:2]]


def test_the_response_that_creates_a_payer_is_not_relied_on() -> None:
    """`create_payer` knows two words only, which its explanation says; a status that
    was read has more.
    """
    created, read = (
        PayerStatus.read(ANSWERS["create_payer"]),
        PayerStatus.read(ANSWERS["get_payer_status"]),
    )

    assert "get_payer_status() says more" in created.explain().meaning
    assert "get_payer_status() says more" not in read.explain().meaning


def test_a_payers_table_shows_the_next_step() -> None:
    """The card of a status says whose move it is; one without a status does not."""
    view = PayerStatus.read(
        {"kycStatus": "pending", "agreementStatus": "signed"}
    )._repr_html_()

    assert "The service&#x27;s move. Wait." in view
    assert "Next" not in PayerStatus.read({"userId": "1"})._repr_html_()


def test_explanations_are_shown_as_text_and_table() -> None:
    """Both name the move and the next step; what a service wrote is escaped."""
    payer = explain_payer("<b>odd</b>", "completed", stated=False)
    views = [payer._repr_html_(), explain("odd")._repr_html_()]

    text = (
        "Payer not compliant (identity check <b>odd</b>, agreement completed): your"
        " move."
    )
    assert ([True, True], False) == (
        [text in each(payer) for each in (str, repr)],
        "<b>odd" in "".join(views),
    )


def test_a_form_asks_for_no_call() -> None:
    """What a form says to do next can be done in the form: no explanation of a payer's
    status names a function.
    """
    known = statuses()
    words = [known.loc[known["of"] == of, "status"] for of in ("kyc", "agreement")]
    steps = [
        explain_payer(kyc, agreement).next_step
        for kyc, agreement in itertools.product(*words)
    ]

    assert [] == [step for step in steps if "()" in step]


def test_what_is_left_to_do_is_said_alone() -> None:
    """A compliant payer's next step is the bank account, and not "nothing"."""
    step = explain_payer("approved", "signed", stated=True).next_step

    assert step.startswith("If the payee's bank account is not stored yet")
