"""The client: one service, one key, one deadline a call, and what each failure proves.

A call goes from `client.Client.send` through `transport` to `deadline_adapter`; nothing else touches the network.
"""

from payerkit.client.call import Call, RequestBody
from payerkit.client.cancellation import Cancellation
from payerkit.client.client import Client, check_client
from payerkit.client.transport import Timeout

__all__ = ["Call", "Cancellation", "Client", "RequestBody", "Timeout", "check_client"]
