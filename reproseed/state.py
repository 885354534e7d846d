"""The checkpoint of a run: a plain dict, checked part by part when it comes back.

Only ints, strings, lists, dicts and CPU uint8 tensors, so that ``torch.load(weights_only=True)`` takes it without an
allow-list; an equal JSON form besides. Each part has a checksum, so that what was cut or edited is named.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from reproseed.errors import StateError

FORMAT = 1
PARTS = {
    "format": int,
    "derivation": int,
    "master_seed": int,
    "drawn": int,
    "rank": int,
    "world_size": int,
    "coordinates": dict,
    "task_seeds": dict,
    "position": dict,
    "versions": dict,
    "snapshot": dict,
    "scopes": list,
}
"""The parts of a checkpoint and their types, beside ``checksums``."""

_BYTES = "base64"


def seal(parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checkpoint made of these parts: bytes as uint8 tensors, with checksums."""
    plain = {name: _to_tensors(value) for name, value in parts.items()}
    return plain | {"checksums": {name: _checksum(parts[name]) for name in parts}}


def unseal(state: object) -> dict[str, Any]:
    """Return the parts of a checkpoint, checked: tensors as bytes, lists and dicts of the plain kinds.

    Args:
        state: what `seal` gave, as it comes back from ``torch.load``, from JSON, or from helpers that map over
            containers. Tensors may have been moved to a device or cast to a float type that holds 0..255 exactly.

    Raises:
        StateError: a part is missing, damaged, or of the wrong type; the message names it.
    """
    if isinstance(state, str):
        state = from_json(state)
    if not isinstance(state, Mapping):
        raise StateError(
            f"a checkpoint of reproseed is a dict as state_dict() returns it, or its JSON; this is a "
            f"{type(state).__name__}."
        )
    missing = [name for name in (*PARTS, "checksums") if name not in state]
    if missing:
        raise StateError(
            f"the checkpoint lacks {', '.join(map(repr, missing))}: it was cut, or is no state_dict() of reproseed "
            f"(its keys: {', '.join(map(str, list(state)[:8])) or 'none'}). {_hint(state)}"
        )
    version = state["format"]
    if version != FORMAT:
        raise StateError(f"the checkpoint has format {version!r}; this version of reproseed reads format {FORMAT}.")
    parts, checksums = {}, state["checksums"]
    if isinstance(checksums, Mapping) and "<generator object" in str(checksums.get("format")):
        raise StateError(
            "the checkpoint's texts were rewritten by Optimizer.load_state_dict(), which casts all that optimizer "
            "state holds: save the checkpoint beside the optimizer's state, not inside it."
        )
    for name, kind in PARTS.items():
        value = _to_bytes(state[name], name)
        if not isinstance(value, kind):
            raise StateError(f"the checkpoint's part {name!r} is a {type(value).__name__}, not a {kind.__name__}.")
        if not isinstance(checksums, Mapping) or checksums.get(name) != _checksum(value):
            raise StateError(
                f"the checkpoint's part {name!r} is damaged: it does not have the checksum that it was saved with. "
                "Use another checkpoint, or init() without resume= to begin anew."
            )
        parts[name] = value
    return parts


def _hint(state: Mapping[Any, Any]) -> str:
    """Return where in a larger checkpoint ours may be."""
    inside = [name for name, part in state.items() if isinstance(part, Mapping) and "checksums" in part]
    return f"Pass its part [{inside[0]!r}]." if inside else "Pass what state_dict() gave."


def to_json(state: Mapping[str, Any]) -> str:
    """Return a checkpoint as JSON text, its tensors in base64."""
    return json.dumps(_jsonable(_to_bytes(state, "state")), sort_keys=True)


def from_json(text: str) -> dict[str, Any]:
    """Return the checkpoint that `to_json` wrote, tensors again tensors.

    Raises:
        StateError: the text is no JSON object, or a state in it is no base64.
    """
    try:
        state = json.loads(text)
    except json.JSONDecodeError as error:
        raise StateError(
            f"the checkpoint's text is no JSON: {error}. It begins with {text[:40]!r}; a file is to be read first, "
            'as torch.load("run.pt")["rng"] does.'
        ) from None
    if not isinstance(state, dict):
        raise StateError(f"the checkpoint's JSON is a {type(state).__name__}, not an object.")
    try:
        return cast("dict[str, Any]", _to_tensors(_from_jsonable(state)))
    except (TypeError, ValueError) as error:
        raise StateError(f"the checkpoint's JSON is damaged: a state in it is no base64 ({error}).") from None


def _to_tensors(value: Any) -> Any:
    import numpy as np
    import torch

    if isinstance(value, (bytes, bytearray)):
        return torch.from_numpy(np.frombuffer(value, dtype=np.uint8).copy())
    if isinstance(value, Mapping):
        return {key: _to_tensors(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_to_tensors(item) for item in value]
    return value


def _to_bytes(value: Any, name: str) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return _tensor_bytes(value, name)
    if isinstance(value, Mapping):
        return {key: _to_bytes(item, f"{name}.{key}" if name != "state" else str(key)) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray)):
        return [_to_bytes(item, f"{name}[{index}]") for index, item in enumerate(value)]
    return value


def _tensor_bytes(tensor: Any, name: str) -> bytes:
    """Return the bytes of a state tensor, also where helpers moved it to a device or cast it to floats."""
    import torch

    if tensor.device.type == "meta":
        raise StateError(f"the checkpoint's part {name!r} lies on the meta device, which holds no data.")
    cpu = tensor.detach().to(device="cpu")
    whole = cpu.to(dtype=torch.uint8)
    # uint8 -> float32, float16 and bfloat16 keep every value of a byte, so a cast can be undone; anything else cannot.
    if cpu.dtype != torch.uint8 and not torch.equal(whole.to(cpu.dtype), cpu):
        raise StateError(
            f"the checkpoint's part {name!r} is a tensor of {tensor.dtype} with values that are no bytes; "
            "states are uint8. Keep them out of optimizer state and of casts."
        )
    return bytes(whole.numpy().tobytes())


def _jsonable(value: Any) -> Any:
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    if isinstance(value, dict):
        return {str(key): _jsonable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_jsonable(item) for item in value]
    return value


def _from_jsonable(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {_BYTES}:
            return base64.b64decode(value[_BYTES], validate=True)
        return {key: _from_jsonable(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_from_jsonable(item) for item in value]
    return value


def _checksum(value: Any) -> str:
    text = json.dumps(_jsonable(_to_bytes(value, "state")), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
