"""Take the pictures of the README, with example data in a light theme: `python tests/remake_pictures.py`."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from browser.chromium import open_browser
from browser.jupyter_pages import Jupyter, write_notebook

PICTURES = Path(__file__).parent.parent / "notebooks" / "pictures"
START = "from payerkit import *\nclient = sandbox(seed=1)\n"
PAYER = """form = PayerForm(client)
form.fill(client_user_id="example-001", email="payer at example.com", phone="+12125551234", first_name="Example",
          last_name="Payer 001", beneficiary_type="individual", date_of_birth="1985-12-12", nationality="US",
          ssn="123-45-6789", address_line1="1 Example Street", city="Boston", state="MA", postcode="2108",
          country="US")
form"""
BANK = """form = BankDetailsForm(client, "example-001")
form.fill(currency="EUR", iban="DE89370400440532013001", bank_name="Example Bank", account_name="Example Payee 001",
          beneficiary_type="business", date_of_birth="2015-03-02", address_line1="1 Example Street", city="Berlin",
          postal_code="10117", country="DE")
form"""
PAYMENT = """form = PaymentForm(client)
form.fill(payee="0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7", amount="10", invoice_currency="fUSDC-sepolia",
          payment_currency="fUSDC-sepolia")
form.submit()
form"""


def main() -> None:
    """Open each form in JupyterLab and take a screenshot."""
    PICTURES.mkdir(exist_ok=True)
    with TemporaryDirectory() as folder, open_browser() as browser, Jupyter(Path(folder)) as jupyter:
        for name, source in {"payer": PAYER, "bank-details": BANK, "payment": PAYMENT}.items():
            write_notebook(Path(folder) / f"{name}.ipynb", START + source)
            with jupyter.open(browser, f"{name}.ipynb", viewport=(1000, 1600)) as page:
                page.run_all()
                page.page.locator(".payerkit").screenshot(path=PICTURES / f"{name}.png")
            print(f"{name}.png")


if __name__ == "__main__":
    main()
