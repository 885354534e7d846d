"""What in a file is a training loop, a loader, a checkpoint, a way back from one."""

import ast
import dataclasses
import re
from collections.abc import Iterator

from reproseed.lint.flow import argument, calls_in, expand, has_method, text_of, words
from reproseed.lint.names import Loop
from reproseed.lint.project import Project, last_part
from reproseed.lint.source import Module

LOADER = "torch.utils.data.DataLoader"
LOADERS = frozenset((LOADER, "reproseed.data.seeded_loader", "torchdata.stateful_dataloader.StatefulDataLoader"))
FRAMEWORKS = frozenset(("lightning", "pytorch_lightning", "accelerate", "transformers", "ignite", "composer"))

# A file or project that imports one of these has data; NumPy alone says little.
DATA_LIBRARIES = frozenset(
    (
        "torch",
        "torchvision",
        "torchaudio",
        "datasets",
        "tensorflow",
        "jax",
        "lightning",
        "transformers",
        "PIL",
        "cv2",
        "skimage",
        "librosa",
        "soundfile",
    )
)

_LOADER_NAME = re.compile(r"(data_?)?loader|(^|_)dl$|_iter(ator)?$", re.IGNORECASE)
_EVALUATION = re.compile(r"(^|_)(val|valid|validation|eval|evaluation|test|dev|holdout)", re.IGNORECASE)
_EPOCH_WORDS = frozenset(("epoch", "epochs", "ep", "nepochs", "numepochs", "maxepochs", "e"))
_STEP_WORDS = frozenset(("step", "steps", "batch", "batches", "iteration", "iterations", "iters", "loader"))
_RESUME_WORDS = re.compile(r"resum|start_epoch|restart|continue_from|last_epoch", re.IGNORECASE)


def unwrapped(module: Module, iterable: ast.expr) -> ast.expr:
    """The iterable inside ``enumerate``, ``tqdm``, ``islice``, ``rs.steps`` and the like."""
    while isinstance(iterable, ast.Call) and iterable.args:
        name = module.resolve(iterable.func) or last_part(iterable.func)
        wraps = ("enumerate", "tqdm", "iter", "islice", "steps", "track", "trange", "cycle")
        if name.rpartition(".")[2] not in wraps:
            break
        iterable = iterable.args[0]
    return iterable


def is_loader(module: Module, expression: ast.expr) -> bool:
    """Whether an expression is a data loader, by what it was assigned or by its name."""
    expression = unwrapped(module, expression)
    if isinstance(expression, ast.Name):
        for value in module.values(expression):
            if isinstance(value, ast.Call) and module.resolve(value.func) in LOADERS:
                return True
    if isinstance(expression, ast.Call):
        return module.resolve(expression.func) in LOADERS
    return bool(_LOADER_NAME.search(last_part(expression)))


def is_for_evaluation(name: str) -> bool:
    """Whether a name speaks of validation or test data.

    >>> is_for_evaluation("val_loader"), is_for_evaluation("train_loader")
    (True, False)
    """
    return bool(_EVALUATION.search(name))


def loader_loops(module: Module, within: ast.AST) -> Iterator[ast.For | ast.AsyncFor]:
    """Loops over a loader below a node, the node itself not counted."""
    for node in ast.walk(within):
        if node is not within and isinstance(node, ast.For | ast.AsyncFor) and is_loader(module, node.iter):
            yield node


def is_training_loop(module: Module, loop: Loop) -> bool:
    """Whether a loop runs over epochs, steps or batches, rather than over configurations."""
    if isinstance(loop, ast.While):
        return bool(words(loop.test) & (_EPOCH_WORDS | _STEP_WORDS)) or has_method(loop, "backward")
    if is_loader(module, loop.iter):
        return True
    said = words(loop.target) | words(loop.iter)
    return bool(said & (_EPOCH_WORDS | _STEP_WORDS))


def is_epoch_loop(loop: Loop) -> bool:
    """Whether a loop counts epochs."""
    head = loop.test if isinstance(loop, ast.While) else loop.target
    around = words(head) if isinstance(loop, ast.While) else words(head) | words(loop.iter)
    return bool(around & (_EPOCH_WORDS - {"e"}))


def trains(node: ast.AST) -> bool:
    """Whether a backward pass happens below a node."""
    return has_method(node, "backward")


@dataclasses.dataclass(frozen=True)
class Checkpoints:
    """What a file saves, and what it takes back.

    Attributes:
        loads: the calls of ``torch.load``.
        saves: the calls of ``torch.save``.
        saved_keys: string keys of what is saved, lower case.
        read_keys: string keys read from anything by subscript or ``get``, lower case.
        restored: names of objects whose ``load_state_dict`` is called, in any file, lower case.
    """

    loads: tuple[ast.Call, ...]
    saves: tuple[ast.Call, ...]
    saved_keys: frozenset[str]
    read_keys: frozenset[str]
    restored: frozenset[str]


def resuming(module: Module, project: Project) -> Checkpoints | None:
    """The checkpoints of a file that trains, saves, loads and resumes, by its words or its epochs' start; else None.

    A script that only loads final weights does not resume, and nothing is missing from it.
    """
    loads, saves = tuple(module.calls("torch.load")), tuple(module.calls("torch.save"))
    if not loads or not saves or project.imports & FRAMEWORKS:
        return None
    loops = (loop for loop in module.for_loops() if is_epoch_loop(loop))
    if not trains(module.tree) or not (_says_resume(module) or any(begins_later(module, loop) for loop in loops)):
        return None
    return Checkpoints(
        loads,
        saves,
        frozenset(key for save in saves for key in saved_keys(module, save)),
        frozenset(_read_keys(project)),
        frozenset(
            text_of(c.func.value).lower()
            for _, c in project.methods("load_state_dict")
            if isinstance(c.func, ast.Attribute)
        ),
    )


def begins_later(module: Module, loop: ast.AST) -> bool:
    """Whether a loop over epochs begins at what was read from somewhere: ``range(start, n)``."""
    iterable = loop.iter if isinstance(loop, ast.For) else None
    calls = [n for n in ast.walk(iterable) if isinstance(n, ast.Call)] if iterable is not None else []
    starts = [call.args[0] for call in calls if len(call.args) > 1 and last_part(call.func) in ("range", "trange")]
    names = [start for start in starts if isinstance(start, ast.Name)]
    return any(not isinstance(value, ast.Constant) for name in names for value in module.values(name))


def saved_keys(module: Module, save: ast.Call) -> set[str]:
    """String keys of the dictionary that a ``torch.save`` is given, as far as they can be read."""
    saved = argument(save, 0, "obj")
    if saved is None:
        return set()
    keys: set[str] = set()
    for node in expand(module, saved):
        if isinstance(node, ast.Dict):
            keys |= {str(k.value) for k in node.keys if isinstance(k, ast.Constant)}
        elif isinstance(node, ast.Call) and module.resolve(node.func) == "builtins.dict":
            keys |= {k.arg for k in node.keywords if k.arg}
    if isinstance(saved, ast.Name):
        keys |= {
            str(s.slice.value)
            for s in module.nodes(ast.Subscript)
            if isinstance(s.ctx, ast.Store) and text_of(s.value) == saved.id and isinstance(s.slice, ast.Constant)
        }
    return {key.lower() for key in keys}


def made_by(module: Module, is_wanted: re.Pattern[str]) -> Iterator[tuple[str, ast.Call]]:
    """Assigned objects by their constructor: the last part of the target, and the call."""
    for assign in module.nodes(ast.Assign):
        value = assign.value
        if isinstance(value, ast.Call) and is_wanted.search(module.resolve(value.func)):
            for target in assign.targets:
                yield last_part(target).lower(), value


def is_restored(name: str, restored: frozenset[str], stem: str) -> bool:
    """Whether an object of this name, or of a name with this stem, gets its state back."""
    return any(r.rpartition(".")[2] == name or stem in r for r in restored)


def reads_time(module: Module, node: ast.AST) -> bool:
    """Whether an expression depends on the clock, also through names."""
    clocks = ("time.time", "time.perf_counter", "time.monotonic", "datetime.datetime.now")
    return any(isinstance(n, ast.Call) and module.resolve(n.func) in clocks for n in expand(module, node))


def _says_resume(module: Module) -> bool:
    for node in module.nodes(ast.Name, ast.Attribute, ast.arg, ast.Constant, ast.FunctionDef, ast.keyword):
        text = getattr(node, "id", "") or getattr(node, "attr", "") or getattr(node, "arg", "")
        text = text or getattr(node, "name", "") or getattr(node, "value", "")
        # Prose (docstrings, help texts) may speak of resuming without doing it.
        if isinstance(text, str) and len(text) < 40 and _RESUME_WORDS.search(text):
            return True
    return False


def _read_keys(project: Project) -> Iterator[str]:
    for module in project.modules:
        for node in module.nodes(ast.Subscript):
            if isinstance(node.ctx, ast.Load) and isinstance(node.slice, ast.Constant):
                yield str(node.slice.value).lower()
        for call in module.methods("get", "pop"):
            if call.args and isinstance(call.args[0], ast.Constant):
                yield str(call.args[0].value).lower()


def contains_call(module: Module, node: ast.AST, *names: str) -> bool:
    """Whether one of these functions is called below a node."""
    return any(name in names for _, name in calls_in(module, node))
