"""Emulated networks for measurements, made of network namespaces."""

from .far import FarLink, build_emulator, far_link, obstacle
from .slow import slow_link

__all__ = ["FarLink", "build_emulator", "far_link", "obstacle", "slow_link"]
