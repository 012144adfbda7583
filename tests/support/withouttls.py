"""What clients without TLS trust."""

import ssl
from typing import Final

PLAIN: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""Nothing. Reading the system's CAs for each client would cost 20 ms."""
