"""What holds generator state: the libraries' own generators, devices, and what users register."""

from reproseed.sources.discovery import find_generators
from reproseed.sources.protocol import Source

__all__ = ["Source", "find_generators"]
