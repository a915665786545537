"""Take the pictures of README and index, with example data in a light theme: `python
tests/remake_pictures.py`.

The words of the screenshots go to a file of their own, which tests compare with what
JupyterLab shows today.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Locator

from browser.chromium import open_browser
from browser.jupyter_pages import Jupyter, NotebookPage, write_notebook
from drawings import box, image, label

PICTURES = Path(__file__).parent.parent / "notebooks" / "pictures"
WORDS = Path(__file__).parent / "data" / "pictures.json"
START = "from payerkit import *\nclient = sandbox(seed=1)\n"
STOP = 'samples["lookalike_payee"]'
BANK = """form = BankDetailsForm(client, "example-001")
form.fill(currency="EUR", iban="DE89370400440532013001", bank_name="Example Bank",
          account_name="Example Payee 001", beneficiary_type="business",
          date_of_birth="2015-03-02", address_line1="1 Example Street", city="Berlin",
          postal_code="10117", country="DE")
form"""
SCREENSHOTS = {
    "stop.png": STOP,
    "bank-details.png": BANK,
    "payer.png": "PayerForm(client)",
}
READ = """shown => [
    shown, ...shown.querySelectorAll("input:not([type=checkbox]), select")
].map(each => each.value ?? each.innerText).join("\\n").split("\\n")
    .map(line => line.trim()).filter(line => line)"""


WHO = {
    "Payer": ["passes the checks,", "pays in crypto"],
    "Service": ["stores payers, accounts,", "requests; gives calldata"],
    "Operator": ["takes the crypto,", "sends money to the bank"],
    "Payee": ["owns the account,", "receives the money"],
}
"""Who takes part, and what each does."""


def who_is_who() -> bytes:
    """Return the picture of the index, as SVG."""
    shapes = [
        box(
            (8, 8, 704, 40),
            "info",
            "filled",
            ["You: register, check, follow. Somebody signs what you checked."],
        ),
        *(label(177 + 180 * place, 104, "→") for place in range(3)),
    ]
    for place, (name, does) in enumerate(WHO.items()):
        shapes.append(
            box(
                (8 + 180 * place, 64, 164, 72),
                "neutral",
                "plain",
                [name.upper(), *does],
            )
        )
    return b64decode(
        image(shapes, 144, alt="").partition("base64,")[2].partition('"')[0]
    )


def drawn(page: NotebookPage, name: str) -> Locator:
    """Show in JupyterLab what a screenshot is of."""
    page.page.set_viewport_size({"width": 1000, "height": 1600})
    page.draw(START + SCREENSHOTS[name])
    shown = page.page.locator(".payerkit, .pk-card").first
    shown.wait_for()
    return shown


def words(shown: Locator) -> list[str]:
    """Return the lines of text that somebody sees, then what the fields hold."""
    lines: list[str] = shown.evaluate(READ)
    return lines


def main() -> None:
    """Draw who is who, and take a screenshot of the card and of the form in
    JupyterLab.
    """
    PICTURES.mkdir(exist_ok=True)
    PICTURES.joinpath("who-is-who.svg").write_bytes(who_is_who())
    written = {}
    with (
        TemporaryDirectory() as folder,
        open_browser() as browser,
        Jupyter(Path(folder)) as jupyter,
    ):
        write_notebook(Path(folder) / "pictures.ipynb", "", "")
        with jupyter.open(browser, "pictures.ipynb") as page:
            for name in SCREENSHOTS:
                shown = drawn(page, name)
                picture = shown.screenshot(path=PICTURES / name)
                written[name] = {
                    "sha256": hashlib.sha256(picture).hexdigest(),
                    "words": words(shown),
                }
                print(name)
    WORDS.write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
