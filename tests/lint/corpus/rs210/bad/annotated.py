def shard_of(document: str, shards: int) -> int:
    return hash(document) % shards  # expect: RS210
