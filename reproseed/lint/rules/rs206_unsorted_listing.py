"""Files are listed in the order of the file system and become data.

os.listdir, glob and Path.iterdir promise no order: on another machine, or after a copy, index 0
is another sample and a seeded split is another split. Write sorted(...) around the listing.
"""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.flow import has_method
from reproseed.lint.names import Function
from reproseed.lint.ordering import is_sorted_later, order_is_lost
from reproseed.lint.project import Project, last_part
from reproseed.lint.source import Module
from reproseed.lint.training import DATA_LIBRARIES, LOADER

LEVEL = "W"
BAD = (
    """
import os
from torch.utils.data import Dataset

class Photos(Dataset):
    def __init__(self, root):
        self.files = os.listdir(root)
""",
)
GOOD = (
    """
import os
from torch.utils.data import Dataset

class Photos(Dataset):
    def __init__(self, root):
        self.files = sorted(os.listdir(root))
""",
    """
import os
import torch

for name in os.listdir("old_checkpoints"):
    os.remove(name)
""",
)

_LISTINGS = ("os.listdir", "os.scandir", "os.walk", "glob.glob", "glob.iglob", "pathlib.Path.glob")
_METHODS = ("iterdir", "rglob", "glob")
_DATA = re.compile(
    r"(^|_)(data|dataset|image|img|photo|sample|class|label|shard|example|clip|video|audio|wav|text|doc|"
    r"document|record|frame|mask|corpus|speaker|train|val|recording|utterance|sequence|scene)(s|es)?"
    r"(_?(dir|root|files?|paths?|names?))?($|[_\W])",
    re.IGNORECASE,
)
# Any file is data only where the same source also loads data.
_FILES = re.compile(r"(^|_)(files?|paths?|fnames?|filenames?|items?|pairs?|folders?)($|[_\W])", re.IGNORECASE)
_UPKEEP = re.compile(
    r"checkpoint|ckpt|(^|_)logs?($|_)|tmp|temp|cache|clean|remove|delete|prune|rotate|latest|plugin|config|"
    r"module|\.(py|so|json|dll|lib|h|cu)\b|(^|_)old|script|backup|snapshot|result|download|list_|copy|size",
    re.IGNORECASE,
)


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find unsorted listings in files about data whose result is kept in order."""
    if not module.imports & DATA_LIBRARIES:
        return
    for call in _listings(module):
        if order_is_lost(module, call) or is_sorted_later(module, call):
            continue
        if _in_dataset(module, call) or _becomes_data(module, call):
            yield call


def _listings(module: Module) -> Iterator[ast.Call]:
    yield from module.calls(*_LISTINGS)
    for call in module.methods(*_METHODS):
        if not module.resolve(call.func):
            yield call


def _in_dataset(module: Module, call: ast.Call) -> bool:
    owner = module.owner(call)
    if owner is None or not any("Dataset" in last_part(base) for base in owner.bases):
        return False
    return not _UPKEEP.search(" ".join(_context(module, call))) and not _only_tidies(module, call)


def _becomes_data(module: Module, call: ast.Call) -> bool:
    names = _context(module, call)
    if any(_UPKEEP.search(name) for name in names) or _only_tidies(module, call):
        return False
    said = _FILES if _loads_data(module) else _DATA
    return any(said.search(name) or _DATA.search(name) for name in names)


def _loads_data(module: Module) -> bool:
    return LOADER in module.called or any(
        "Dataset" in last_part(base) for c in module.nodes(ast.ClassDef) for base in c.bases
    )


def _context(module: Module, call: ast.Call) -> list[str]:
    """Names around a listing: what it is assigned to or iterated as, and the function it is in."""
    names = [ast.unparse(a) for a in call.args]
    function: Function | None = module.function(call)
    names += [function.name] if function else []
    for above in [call, *module.ancestors(call)]:
        if isinstance(above, ast.Assign):
            names += [last_part(t) for t in above.targets]
        elif isinstance(above, ast.For | ast.comprehension):
            names += [n.id for n in ast.walk(above.target) if isinstance(n, ast.Name)]
        if isinstance(above, ast.stmt):
            break
    return names


def _only_tidies(module: Module, call: ast.Call) -> bool:
    statement = module.statement(call)
    return isinstance(statement, ast.For) and (
        has_method(statement, "unlink", "remove", "rmtree", "rmdir", "move", "copy", "rename")
        and not has_method(statement, "append", "extend")
    )
