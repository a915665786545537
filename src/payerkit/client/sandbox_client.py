"""The client of the embedded service, and its controls. Their code stands above this
package, so this module is loaded only when one of them is used.
"""

from payerkit.connection import SandboxClient
from payerkit_sandbox.controls import SandboxControls

__all__ = ["SandboxClient", "SandboxControls"]
