"""What notebooks show of findings, statuses, clients and payments, in headless
Chromium.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

import payerkit
from browser.form_states import LOOK, TESTS
from browser.jupyter_pages import OUTPUTS, Jupyter, NotebookPage, write_notebook
from example_payments import GOOD
from payerkit.findings import Findings
from payerkit.models import PayerStatus, Payment, PaymentDetail
from payerkit.money import Leg, Trace
from published import ANSWERS, BANK_DETAILS, PAYER
from remake_pictures import SCREENSHOTS, WORDS, drawn, words
from test_card import PAYEE_SWAPPED, UNLIMITED

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
WRONG_ACCOUNT = {
    **BANK_DETAILS,
    "currency": "EUR",
    "iban": "DE89370400440532013001",
    "routingNumber": "26013356",
    "postalCode": "1011",
    "country": "UK",
}
TITLES = ("Order", "Request", "Transactions", "Paid on chain", "Off-ramp", "Bank")
LEGS = [
    Leg(leg=title, progress="done", known=f"0x{'ab' * 32}", source="list of payments")
    for title in TITLES
]
BOUNCED = payerkit.explain("bounced", of="order")


PICTURES: dict[str, Any] = {
    "trace": Trace(
        reference="1" * 64,
        state="bounced",
        explanation=BOUNCED,
        legs=tuple(LEGS),
        current=LEGS[-1],
    ),
    "findings": payerkit.check_bank_details(WRONG_ACCOUNT),
    "no findings": Findings(),
    "a long name": payerkit.check_payer({**PAYER, "country": "UK", "email": "john"}),
    "lines of a policy": payerkit.check_payment(
        payerkit.samples["unlimited_allowance"]
    ),
    "a long member": payerkit.check_payment(payerkit.samples["hidden_transaction"]),
    "waiting payer": PayerStatus.read(
        {"kycStatus": "pending", "agreementStatus": "signed", "isCompliant": False}
    ),
    "rejected payer": PayerStatus.read(
        {"kycStatus": "rejected", "agreementStatus": "not_started"}
    ),
    "unknown status": PayerStatus.read(
        {"kycStatus": "under_a_microscope_" * 5, "agreementStatus": "completed"}
    ),
    "account": PaymentDetail.read(
        {
            "paymentDetail": {
                "id": "1" * 36,
                "status": "failed",
                "bankName": "Example Bank",
            }
        }
    ),
    "explanation": payerkit.explain("rejected", of="kyc"),
    "explanation of a payer": (
        PayerStatus.read(
            {"kycStatus": "pending", "agreementStatus": "not_started"}
        ).explain()
    ),
    "client": payerkit.connect("https://api.example.com", api_key="example-key"),
}
CARDS = {
    "ok": GOOD["token"],
    "look": UNLIMITED,
    "stop": PAYEE_SWAPPED,
    "unreadable": Payment.read(ANSWERS["pay_token"]),
}
LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "forced": {"forced_colors": "active"},
}
IN_JUPYTER = f"""
from payerkit import check_bank_details, check_payment, connect, explain, samples
from payerkit.models import PayerStatus
display(check_bank_details({WRONG_ACCOUNT!r}))
display(check_payment(samples["hidden_transaction"]), explain("rejected", of="kyc"))
display(connect("https://api.example.com", api_key="example-key"))
display(PayerStatus.read({{"kycStatus": "pending", "agreementStatus": "rejected"}}))
"""


@pytest.fixture
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Open a page that is as wide as a cell in half a screen, offline."""
    context = browser.new_context(
        viewport={"width": 560, "height": 600}, offline=True, **LOOKS[request.param]
    )
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("page", LOOKS, indirect=True)
def test_pictures_are_readable_everywhere(page: Page) -> None:
    """In light, dark and forced colours: nothing is cut off or moves sideways, and all
    text has enough contrast.
    """
    for name, shown in PICTURES.items():
        page.set_content(
            f"<meta name='color-scheme' content='light dark'>{shown._repr_html_()}"
        )

        assert [] == page.evaluate(LOOK, "body"), name


@pytest.mark.parametrize("page", ["light"], indirect=True)
def test_a_mark_stands_for_each_colour(page: Page) -> None:
    """In forced colours, and where styles are removed, the words and marks of a chip
    are what is left.
    """
    for shown in PICTURES.values():
        page.set_content(shown._repr_html_())
        chips = [text.strip() for text in page.locator(".pk-chip").all_text_contents()]

        assert [] == [
            chip
            for chip in chips
            if chip[0] not in "✗!i✓·=" and chip not in {"OK", "LOOK", "STOP"}
        ]


def test_pictures_follow_the_theme_of_jupyterlab(opened_notebook: NotebookPage) -> None:
    """In each theme axe-core finds nothing, and no output scrolls sideways at 700
    pixels.
    """
    opened_notebook.page.set_viewport_size({"width": 700, "height": 3000})
    opened_notebook.rewrite(IN_JUPYTER, "")
    opened_notebook.run_all()

    assert [] == opened_notebook.look_closely(OUTPUTS)
    assert opened_notebook.page.locator(".pk").count() == 5


@pytest.mark.parametrize("page", LOOKS, indirect=True)
def test_cards_are_readable_everywhere(page: Page, tmp_path: Path) -> None:
    """In light, dark and forced colours: nothing is cut off, and all text has enough
    contrast (4.5).
    """
    for name, payment in CARDS.items():
        payment.card().save(tmp_path / f"{name}.html")
        page.goto((tmp_path / f"{name}.html").as_uri())
        page.evaluate(
            "document.querySelectorAll('details').forEach(each => each.open = true)"
        )

        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert [] == page.evaluate(LOOK, "body"), name


@pytest.mark.parametrize("page", ["light"], indirect=True)
def test_a_card_is_short_until_somebody_opens_it(page: Page, tmp_path: Path) -> None:
    """Verdict, sentence and what could not be checked fit into a window; each folded
    part opens by keyboard.
    """
    GOOD["token"].card().save(tmp_path / "card.html")
    page.set_viewport_size({"width": 700, "height": 600})
    page.goto((tmp_path / "card.html").as_uri())
    closed = page.locator(".pk-card").bounding_box()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    assert closed is not None
    assert closed["height"] < 320
    assert [True, False, False] == page.locator("details").evaluate_all(
        "all => all.map(each => each.open)"
    )


def test_outputs_can_be_read_where_a_notebook_is_not_trusted(
    browser: Browser, lab: Jupyter
) -> None:
    """In a colleague's notebook, without style sheets: colours, blanks and whole
    chips, in all themes.
    """
    shown = {"stop": CARDS["stop"].card(), **PICTURES}
    path = lab.folder / "stored.ipynb"
    write_notebook(path, *shown)
    notebook = json.loads(path.read_text())
    for cell in notebook["cells"]:
        data = {"text/html": shown["".join(cell["source"])]._repr_html_()}
        cell["outputs"] = [
            {"output_type": "display_data", "metadata": {}, "data": data}
        ]
    path.write_text(json.dumps(notebook))
    with lab.open(browser, path.name, viewport=(700, 1500)) as opened:
        chips = opened.page.locator(f"{OUTPUTS} .pk-solid")
        card = opened.page.locator(".pk-card")

        assert [] == opened.look_closely(OUTPUTS)
        assert card.inner_text().startswith("STOP Do not sign.")
        assert "2px solid rgb(179, 38, 30)" == card.evaluate(
            "card => getComputedStyle(card).border"
        )
        assert {1} == set(
            chips.evaluate_all("all => all.map(each => each.getClientRects().length)")
        )
        assert (
            0 == opened.page.locator(f"{OUTPUTS} style").count()
        )  # so it is not trusted


@pytest.mark.parametrize("name", SCREENSHOTS)
def test_the_pictures_of_the_readme_are_of_today(
    opened_notebook: NotebookPage, name: str
) -> None:
    """Their words, and what their fields hold, are what JupyterLab shows; else `python
    tests/remake_pictures.py`.
    """
    shown = drawn(opened_notebook, name)

    assert json.loads(WORDS.read_text("utf-8"))[name]["words"] == words(shown)


@pytest.fixture(scope="module")
def reader(browser: Browser, lab: Jupyter) -> Iterator[NotebookPage]:
    """Open a page in which one notebook after the other is read."""
    write_notebook(lab.folder / "reader.ipynb", "")
    with lab.open(browser, "reader.ipynb", viewport=(1280, 3000)) as page:
        yield page


@pytest.mark.parametrize(
    "path", sorted(NOTEBOOKS.glob("0*.ipynb")), ids=lambda path: path.stem
)
def test_whole_notebooks_can_be_used_by_everybody(
    reader: NotebookPage, lab: Jupyter, path: Path
) -> None:
    """Run, with all forms and texts on one page: axe-core finds nothing, such as two
    landmarks of one name.
    """
    shutil.copy(path, lab.folder)
    lab.turn_to(reader, path.name)
    reader.run_all()

    assert [] == reader.violations(".jp-Notebook")


FRAMES = """from payerkit import *
from published import *
client = sandbox(seed=1)
create_payer(client, {**PAYER, "clientUserId": "0d1232ea-9b87-4e21-a40d-9347e481e5b2"})
create_payment_detail(client, "0d1232ea-9b87-4e21-a40d-9347e481e5b2", BANK_DETAILS)
ids = ["0d1232ea-9b87-4e21-a40d-9347e481e5b2", "user-9"]
display(payer_statuses(client, ids, progress=False))
display(list_payment_details(client, "0d1232ea-9b87-4e21-a40d-9347e481e5b2"))"""


def test_a_window_of_1280_pixels_shows_what_a_frame_says(
    opened_notebook: NotebookPage,
) -> None:
    """Whose move it is, and what to do, to its end; an account with its status: without
    scrolling sideways.
    """
    opened_notebook.page.set_viewport_size({"width": 1280, "height": 1000})
    opened_notebook.rewrite(f"import sys\nsys.path.append({TESTS!r})\n{FRAMES}", "")
    opened_notebook.run_all()
    visible = opened_notebook.page.evaluate(
        """() => [...document.querySelectorAll('.pk-frame')]
          .map(frame => [...frame.querySelectorAll('thead th')]
          .filter(head => head.getBoundingClientRect().right
            <= frame.getBoundingClientRect().right)
          .map(head => head.textContent))"""
    )

    assert ["", "client_user_id", "whose_move", "what_to_do"] == visible[0][:4]
    assert {"bank_name", "account_number", "currency", "status", "in_use"} <= {
        *visible[1]
    }
    advice = opened_notebook.page.get_by_text("or call update_agreement")
    assert advice.evaluate(
        """cell => cell.getBoundingClientRect().right
          <= cell.closest('.pk-frame').getBoundingClientRect().right"""
    )
