"""What payments do on chain: pure functions of bytes, and the facts they rest on in
tables beside the code.
"""
