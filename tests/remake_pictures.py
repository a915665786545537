"""Take the pictures of README and index, with example data in a light theme: `python tests/remake_pictures.py`."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from tempfile import TemporaryDirectory

from browser.chromium import open_browser
from browser.jupyter_pages import Jupyter, write_notebook
from payerkit.pictures import box, image, label

PICTURES = Path(__file__).parent.parent / "notebooks" / "pictures"
START = "from payerkit import *\nclient = sandbox(seed=1)\n"
STOP = 'samples["lookalike_payee"]'
BANK = """form = BankDetailsForm(client, "example-001")
form.fill(currency="EUR", iban="DE89370400440532013001", bank_name="Example Bank", account_name="Example Payee 001",
          beneficiary_type="business", date_of_birth="2015-03-02", address_line1="1 Example Street", city="Berlin",
          postal_code="10117", country="DE")
form"""


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
        box((8, 8, 704, 40), "info", "filled", ["You: register, check, follow. Somebody signs what you checked."]),
        *(label(177 + 180 * place, 104, "→") for place in range(3)),
    ]
    for place, (name, does) in enumerate(WHO.items()):
        shapes.append(box((8 + 180 * place, 64, 164, 72), "neutral", "plain", [name.upper(), *does]))
    return b64decode(image(shapes, 144, alt="").partition("base64,")[2].partition('"')[0])


def main() -> None:
    """Draw who is who, open the card and the form in JupyterLab and take a screenshot of each."""
    PICTURES.mkdir(exist_ok=True)
    PICTURES.joinpath("who-is-who.svg").write_bytes(who_is_who())
    with TemporaryDirectory() as folder, open_browser() as browser, Jupyter(Path(folder)) as jupyter:
        for name, source in {"stop": STOP, "bank-details": BANK}.items():
            write_notebook(Path(folder) / f"{name}.ipynb", START + source)
            with jupyter.open(browser, f"{name}.ipynb", viewport=(1000, 1600)) as page:
                page.run_all()
                page.page.locator(".payerkit, .pk-card").first.screenshot(path=PICTURES / f"{name}.png")
            print(f"{name}.png")


if __name__ == "__main__":
    main()
