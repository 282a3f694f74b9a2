"""The ways of sending files that are compared."""

from .base import Peer, Place, Route
from .netcat import Netcat
from .nginx import Nginx
from .rclone import Rclone
from .rsync import Rsync
from .scp import Scp
from .transfer import Transfer

__all__ = ["Netcat", "Nginx", "Peer", "Place", "Rclone", "Route", "Rsync", "Scp", "Transfer"]
