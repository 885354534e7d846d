import hashlib
import zlib


def is_validation(name: str) -> bool:
    return zlib.crc32(name.encode()) % 10 == 0


def shard_of(name: str, shards: int) -> int:
    return int(hashlib.sha256(name.encode()).hexdigest(), 16) % shards
