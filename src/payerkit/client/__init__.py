"""The client: one pool of connections to one service, and what every failure of a call proves."""

from payerkit.client.call import Call
from payerkit.client.client import Client, check_client
from payerkit.client.transport import Timeout
from payerkit.client.wire import RequestBody

__all__ = ["Call", "Client", "RequestBody", "Timeout", "check_client"]
