"""Addresses of the examples: wallets, tokens and payment contracts, as tables call
them, too.
"""

from __future__ import annotations

from payerkit.payments.onchain.currencies import find_currency

PAYEE = "0x6923831ACf5c327260D7ac7C9DfF5b1c3cB3C7D7"
OTHER = "0x1111111111111111111111111111111111111111"
DEAD = "0x000000000000000000000000000000000000dEaD"
ZERO = f"0x{0:040x}"
THIRD = "0x2222222222222222222222222222222222222222"
REFERENCE = b"\x12\x34\x56\x78\x9a\xbc\xde\xf0"
TOKEN = "0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238"  # fUSDC-sepolia
FEE_PROXY = "0x399F5EE127ce7432E4921a61b8CF52b0af52cbfE"  # on sepolia
BATCHES = (  # BatchConversionPayments on sepolia
    "0x67818703c92580c0e106e401F253E8A410A66f8B"
)
FAU = (  # FAU-sepolia; another contract on mainnet
    "0x370DE27fdb7D1Ff1e1BaA7D11c5820a324Cf623C"
)
ETH_FEE_PROXY = "0xe11BF2fDA23bF0A98365e1A4c04A87C9339e8687"
ETH_PROXY = "0x171Ee0881407d4c0C11eA1a2FB7D5b4cdED71e6e"
ERC20_PROXY = "0x88Ecc15fDC2985A7926171B938BB2Cd808A5ba40"
MATIC_PROXY = "0x0DfbEe143b42B41eFC5A6F87bFD1fFC78c2f0aC9"  # named in tables
BATCH = (  # BatchConversionPayments on mainnet
    "0x3cF63891928B8CeebB81C95426600a18cd59C03f"
)
MAIN_PROXY = FAU
MAIN_USDC, MAIN_WBTC = (
    str(find_currency(name).address)  # type: ignore[union-attr]
    for name in ("USDC-mainnet", "WBTC-mainnet")
)
CONVERTED = (  # EthConversionProxy on sepolia
    "0xc861aE0Cd70b73b0C8F1D62Fa669E6D1d7D7e0aB"
)
HASHES = [
    "0x775EB53d00DD0Acd3EC1696472105d579B9b386b",
    "0xBB3546497A53Cd710BEb11b84C5240327F145BCB",
]
MAX = 2**256 - 1

NAMES = {
    name: value
    for name, value in globals().items()
    if name.isupper() and isinstance(value, str | bytes)
}
"""What the tables of cases call by the names of this module: addresses and the
reference.
"""
