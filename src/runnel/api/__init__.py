"""The public Python face: `runnel.connect(...)`."""

from runnel.api.face import Runnel, connect
from runnel.api.records import Refresh, Status

__all__ = ["Refresh", "Runnel", "Status", "connect"]
