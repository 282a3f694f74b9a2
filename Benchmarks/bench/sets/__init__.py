"""The sets of measurements: each is a function that makes its files, measures, and adds its findings to the results."""

from collections.abc import Callable

from ..context import Bench
from .cluster import cluster
from .common import Skipped
from .far_links import FAR_SETS
from .file_counts import counts
from .file_sizes import sizes
from .in_memory import big, photos, small, text
from .memory_use import memory
from .on_disk import disk_big, disk_small
from .pages import page_big, page_drop, page_open, page_small
from .single_file import single
from .slow_network import network
from .trees import trees, trees_million

# The sets by name, in the order in which they run and are reported.
SETS: dict[str, Callable[[Bench], None]] = {
    "big": big,
    "photos": photos,
    "small": small,
    "text": text,
    "disk-big": disk_big,
    "disk-small": disk_small,
    "single": single,
    "network": network,
    "sizes": sizes,
    "counts": counts,
    "memory": memory,
    "trees": trees,
    "trees-million": trees_million,
    **FAR_SETS,
    "page-open": page_open,
    "page-small": page_small,
    "page-big": page_big,
    "page-drop": page_drop,
    "cluster": cluster,
}

ON_REQUEST = ["trees-million", "page-open", "page-small", "page-big", "page-drop", "cluster"]
"""Sets that need a browser or engines, or so much time or space that they run only if they are named."""

__all__ = ["ON_REQUEST", "SETS", "Skipped"]
