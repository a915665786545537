"""payerkit: onboard payers, store their bank details and check payments on Request Network's payer API.

The public names are listed in `__init__.pyi`, those of a place such as `payerkit.errors` in its own. Each is loaded on
first use, so that `import payerkit` stays fast.

The modules, from the ground up; each imports only from its own line and the lines above it (a test holds this):

    errors, html, pictures, wording what callers may catch; HTML fragments; images; words for counts
    disk, frames                    waiting for the disk; DataFrames with fixed columns
    wire, findings, reasons         names and ids on the wire; results of checks; why a call or a row ended so
    explanations                    what each status means, and whose move it is
    checks, onchain                 check records before they are sent; decode calldata; tables of contracts and tokens
    policy                          what a user agreed to once: fees, allowances, known addresses
    payment                         compare payments with their orders
    signing                         what a signer sees and hands over: cards, digests, files for a Safe
    masking                         secrets that show only their last characters
    models                          the objects that are sent and returned
    client                          HTTP, and what each failure proves
    events                          what the service reports by itself, verified and read; a receiver
    sample_payments                 example payments, an honest one and bad ones
    widgets                         what every widget is made of: one model, its code sent once a page
    tables                          spreadsheets and text files, as people have them, to tables named by field
    endpoints, sandbox_controls     the calls of the API; the controls of a sandbox
    payouts                         payments into stored bank accounts, beyond the specification; reading them back
    onboarding, forms               runs over many rows; forms for notebooks
    profiles                        services under names of the user's, and their keys
    statuses, reference             reading many payers; a place of public names
    connection, service             connect() and sandbox(); the sandbox, which shares no model with the client
    cli                             the command line
"""

from payerkit._lazy import load_lazily

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = load_lazily(__name__, __file__)
