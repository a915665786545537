"""`payerkit inspect`: the card of a saved payment in a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from example_addresses import OTHER
from example_payments import GOOD, USDC
from payerkit import PaymentPolicy, samples
from payerkit.cli import main as cli
from payerkit.models import Payment
from test_card import PAYEE_SWAPPED, UNLIMITED

ORDERED = {
    "--payee": USDC.payee,
    "--amount": "10",
    "--invoice-currency": "fUSDC-sepolia",
    "--currency": "fUSDC-sepolia",
}


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file of an ok payment, with its order, in the current folder."""
    monkeypatch.chdir(tmp_path)
    GOOD["token"].save(tmp_path / "payment.json")
    return tmp_path / "payment.json"


@pytest.fixture
def response(tmp_path: Path) -> Path:
    """Return the file of the same response, without an order."""
    file = tmp_path / "response.json"
    file.write_text(json.dumps(GOOD["token"].to_dict(reveal=True)), "utf-8")
    return file


def inspect(*arguments: object) -> int:
    """Run the command and return its exit code."""
    return cli.main(["inspect", *map(str, arguments)])


@pytest.mark.parametrize(
    ("payment", "code", "verdict"),
    [
        (GOOD["token"], 0, "OK  "),
        (UNLIMITED, 3, "LOOK  "),
        (PAYEE_SWAPPED, 4, "STOP  "),
    ],
)
def test_inspect_ends_with_the_verdict(
    payment: Payment,
    code: int,
    verdict: str,
    saved: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A script reads the exit code, a person the text."""
    payment.save(saved)

    assert code == inspect(saved)
    assert capsys.readouterr().out.startswith(verdict)


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_a_name_that_the_terminal_cannot_show_is_written_out(
    encoding: str, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether to sign does not depend on the letters of a name."""
    policy, output = tmp_path / "policy.toml", tmp_path / "output.txt"
    PaymentPolicy(addresses={USDC.payee: "例"}).save(policy)
    with output.open("w", encoding=encoding) as stream:
        monkeypatch.setattr("sys.stdout", stream)
        code = inspect(saved, "--policy", policy)

    assert (0, True) == (code, r"(\u4f8b)" in output.read_text(encoding))


def test_inspect_tells_whose_order_it_compares_with(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A verdict says nothing to a person who does not know on whose order it stands."""
    inspect(saved)
    printed = capsys.readouterr().out

    assert "Compared with the order (the file's own word)\n" in printed
    assert re.search(rf"payee +{USDC.payee}\n", printed)
    assert re.search(r"policy +none\n", printed)
    assert "The order is the file's own word" in printed


@pytest.mark.parametrize(
    ("option", "value", "code", "finding"),
    [
        ("--payee", OTHER, 4, f"the payee of the order is {OTHER}"),
        ("--amount", "11", 4, "expected 11 fUSDC-sepolia"),
        ("--currency", "fUSDT-sepolia", 4, "expected fUSDT-sepolia"),
        ("--invoice-currency", "USD", 3, "10 fUSDC-sepolia for 10 USD"),
        ("--payee", USDC.payee, 0, "10 checks passed"),
    ],
)
def test_an_option_replaces_one_member_of_the_order(
    option: str,
    value: str,
    code: int,
    finding: str,
    saved: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The rest stays the file's own word, and the output says so."""
    assert code == inspect(saved, option, value)

    printed = capsys.readouterr().out
    assert finding in re.sub(r"\s+", " ", printed)
    assert (
        "Compared with the order (as given, otherwise the file's own word)\n" in printed
    )
    assert "The order is the file's own word" in printed


def test_an_order_is_given_with_options_alone(
    response: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A response without an order is compared with what the options say, and nothing is
    the file's own word.
    """
    options = [text for option in ORDERED.items() for text in option]

    assert 0 == inspect(response, *options)
    assert "own word" not in capsys.readouterr().out


def test_an_incomplete_order_is_refused(
    response: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without an order in the file, one option is not enough; the message names the
    others.
    """
    assert 5 == inspect(response, "--payee", USDC.payee, "--amount", "10")
    assert (
        "has no order. Give --invoice-currency and --payment-currency, too."
        in capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("content", "options", "words"),
    [
        (None, ["--rate", "x"], "rate: give a positive number"),
        (None, ["--network", "polygon"], "network: 'polygon' is not known"),
        (None, ["--policy", "missing.toml"], "missing.toml"),
        ("", [], "payment.json is not valid JSON."),
        ("[]", [], "payerkit inspect: "),
        ("gone", [], "payment.json cannot be read (No such file or directory)."),
    ],
)
def test_what_cannot_be_used_is_told(
    content: str | None,
    options: list[str],
    words: str,
    saved: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """One line names the file or the option and says what is wrong; the exit code is
    not that of a verdict.
    """
    if content == "gone":
        saved.unlink()
    elif content is not None:
        saved.write_text(content)

    assert 5 == inspect(saved, *options)
    printed = capsys.readouterr()
    assert (words in printed.err, printed.out, len(printed.err.splitlines())) == (
        True,
        "",
        1,
    )


def test_the_rate_decides(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a rate the amount is checked; the output says which rate it was."""
    asked: list[Any] = [saved, "--invoice-currency", "USD"]

    assert [3, 0, 4] == [
        inspect(*asked),
        inspect(*asked, "--rate", "1"),
        inspect(*asked, "--rate", "2"),
    ]
    assert re.search(r"rate +2 \(as given\)", capsys.readouterr().out)


def test_a_card_for_a_signer_without_python(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--html writes the same card as a page, and the output says where it is."""
    page = tmp_path / "card.html"

    assert 0 == inspect(saved, "--html", page)
    assert f"The card is also in {page}" in capsys.readouterr().out
    assert (
        "<title>OK: Pays 10 fUSDC on Sepolia to 0x6923...C7D7, no fee, two"
        " signatures.</title>" in page.read_text()
    )


def test_a_page_that_cannot_be_written_is_an_error(
    saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code of a verdict is not given for half of what was asked."""
    page = saved.parent / "missing" / "card.html"

    assert 1 == inspect(saved, "--html", page)
    assert (
        f"payerkit inspect: {page}: No such file or directory\n"
        == capsys.readouterr().err
    )


@pytest.mark.parametrize(
    ("payment", "options", "is_told"),
    [
        pytest.param(GOOD["token"], [], False, id="nothing to agree to"),
        pytest.param(UNLIMITED, [], True, id="an allowance to agree to"),
        pytest.param(UNLIMITED, ["--policy", "own.toml"], False, id="with a policy"),
        pytest.param(
            UNLIMITED, ["--amount", "11"], False, id="an amount that no policy clears"
        ),
        pytest.param(samples["declared_fee"], [], True, id="a fee to agree to"),
        pytest.param(samples["undeclared_fee"], [], False, id="a fee that stops it"),
    ],
)
def test_a_reader_without_a_policy_is_told_where_its_lines_go(
    payment: Payment,
    options: list[str],
    is_told: bool,
    saved: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Advice says "add to the policy": who has none learns how to make and give one."""
    payment.save(saved)
    (saved.parent / "own.toml").write_text('peg_tolerance = "1"\n', "utf-8")
    inspect(saved, *options)

    assert is_told == ("policy.toml" in capsys.readouterr().out)
