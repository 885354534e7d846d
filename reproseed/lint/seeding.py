"""What seeds and what holds generator state, by the full names in Python, NumPy and torch."""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.flow import argument, calls_in, text_of
from reproseed.lint.names import FUNCTIONS, Function
from reproseed.lint.project import Project, last_part
from reproseed.lint.source import Module

GLOBAL_SEEDS = frozenset(
    (
        "random.seed",
        "numpy.random.seed",
        "torch.manual_seed",
        "torch.cuda.manual_seed",
        "torch.cuda.manual_seed_all",
        "torch.mps.manual_seed",
        "torch.xpu.manual_seed",
        "torch.xpu.manual_seed_all",
        "cupy.random.seed",
        "lightning.pytorch.seed_everything",
        "transformers.set_seed",
        "transformers.trainer_utils.set_seed",
        "accelerate.utils.set_seed",
    )
)
GENERATORS = frozenset(("numpy.random.default_rng", "numpy.random.RandomState", "random.Random", "torch.Generator"))
SEED_KEYWORDS = ("seed", "x", "a", "new_seed", "random_state", "master_seed")
ENTROPY = frozenset(
    (
        "time.time",
        "time.time_ns",
        "time.perf_counter",
        "time.perf_counter_ns",
        "time.monotonic",
        "time.monotonic_ns",
        "datetime.datetime.now",
        "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "os.getpid",
        "os.urandom",
        "secrets.randbits",
        "secrets.randbelow",
        "secrets.token_bytes",
        "uuid.uuid4",
        "uuid.uuid1",
    )
)

_RNG_NAME = re.compile(r"(^|[._])(rng|gen|generator|g|random_state|prng)$", re.IGNORECASE)
_ENTRY_NAME = re.compile(
    r"^(main\w*|run|cli|app|objective|setup\w*|init_\w+|\w*worker\w*|test\w*|\w*seed\w*|\w*determin\w*|\w*reprod\w*)$"
    r"|^_?(fix|set|init|reset|control)_rand\w*$|_main$",
    re.IGNORECASE,
)
_ENTRY_DECORATOR = re.compile(r"\b(main|command|record|fixture|hydra|app|cli)\b")
_TEST_FILE = re.compile(r"(^|/)(test_[^/]*|conftest|[^/]*_test)\.py$")
_STARTERS = frozenset(("spawn", "Process", "launch", "start_processes", "run", "notebook_launcher", "TorchTrainer"))
_HELPERS = ("set_seed", "seed_everything", "seed_all", "set_random_seed")
_STATE_BACK = frozenset(("set_rng_state", "set_rng_state_all", "setstate", "set_state"))


def global_seeds(module: Module) -> Iterator[ast.Call]:
    """Calls that seed a generator of the whole process."""
    yield from module.calls(*GLOBAL_SEEDS)


def looks_like_generator(module: Module, node: ast.expr) -> bool:
    """Whether an object is a generator by what it was assigned or by its name."""
    if isinstance(node, ast.Name) and any(
        isinstance(v, ast.Call) and module.resolve(v.func) in GENERATORS for v in module.values(node)
    ):
        return True
    if isinstance(node, ast.Call):
        return module.resolve(node.func) in GENERATORS
    return bool(_RNG_NAME.search(text_of(node)))


def seeded_with(module: Module) -> Iterator[tuple[ast.Call, ast.expr]]:
    """All calls that seed anything, each with the seed."""
    takers = [*module.calls(*GLOBAL_SEEDS, *GENERATORS, "numpy.random.SeedSequence")]
    takers += [c for c in module.methods("manual_seed") if c not in takers]
    takers += [
        c
        for c in module.methods("seed")
        if isinstance(c.func, ast.Attribute) and c not in takers and looks_like_generator(module, c.func.value)
    ]
    takers += module.calls("reproseed.init", "reproseed.seeded", "reproseed.Seeder")
    takers += [c for c in module.calls_named(*_HELPERS) if c not in takers]
    for call in takers:
        if module.resolve(call.func) == "reproseed.seeded":
            seed = argument(call, None, "master_seed")
        else:
            seed = argument(call, 0, *SEED_KEYWORDS)
        if seed is not None:
            yield call, seed
    for keyword in module.keywords("random_state"):
        holder = module.parent(keyword)
        if isinstance(holder, ast.Call) and holder not in takers:
            yield holder, keyword.value


def generator_calls(module: Module) -> Iterator[ast.Call]:
    """Calls that make a generator object."""
    yield from module.calls(*GENERATORS)


def in_test_file(module: Module) -> bool:
    """Whether a file holds tests, by its name."""
    return bool(_TEST_FILE.search(module.path))


def at_entry_point(module: Module, project: Project, node: ast.AST) -> bool:
    """Whether code runs once, at the start of a program: where a plain script may seed.

    That is module level; functions with a name or a decorator of an entry point; seed helpers;
    functions called from module level or handed to what starts processes; and tests.
    """
    function = module.function(node)
    if function is None:
        return module.owner(node) is None
    if in_test_file(module) or (module.owner(function) and _is_test_class(module, function)):
        return True
    if module.owner(function) is None and _ENTRY_NAME.search(function.name):
        return True
    if any(_ENTRY_DECORATOR.search(ast.unparse(d)) for d in function.decorator_list):
        return True
    return _started_at_module_level(module, project, function)


def _is_test_class(module: Module, function: Function) -> bool:
    owner = module.owner(function)
    return owner is not None and ("Test" in owner.name or function.name in ("setUp", "setup_method"))


def _started_at_module_level(module: Module, project: Project, function: Function) -> bool:
    if module.owner(function) is not None:
        return False
    for other, call in project.calls_named(function.name):
        if other.block(call) is other.tree and not other.loops(call):
            return True
    for _, call in project.calls_named(*_STARTERS):
        handed = [*call.args, *(k.value for k in call.keywords)]
        if any(last_part(a) == function.name for a in handed):
            return True
    return False


def isolated(module: Module, node: ast.AST) -> bool:
    """Whether what a reseed changes is put back: by ``fork_rng``, by a scope, or by hand."""
    for above in module.ancestors(node):
        if isinstance(above, ast.With | ast.AsyncWith) and any(
            _puts_back(module, item.context_expr) for item in above.items
        ):
            return True
        if isinstance(above, FUNCTIONS):
            return any(last_part(c.func) in _STATE_BACK for c, _ in calls_in(module, above))
    return False


def _puts_back(module: Module, context: ast.expr) -> bool:
    called = context.func if isinstance(context, ast.Call) else context
    return module.resolve(called) == "reproseed.preserved" or "fork" in last_part(called)


def _seeds(module: Module, method: str, name: str) -> bool:
    """Whether a method of this name, registered in the generator's place, reaches the attribute."""
    functions = (node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef) and node.name == method)
    return any(isinstance(n, ast.Attribute) and n.attr == name for function in functions for n in ast.walk(function))


def registered(module: Module, project: Project, name: str) -> bool:
    """Whether a generator of this name is registered in any file, by itself or by a search."""
    for _, call in project.calls("reproseed.register_generator"):
        if argument(call, None, "within") is not None:
            return True
        if any(last_part(n) == name for a in call.args for n in ast.walk(a)):
            return True
        if any(isinstance(a, ast.Attribute) and _seeds(module, a.attr, name) for a in call.args):
            return True
    for _, call in project.methods("register_generator"):
        if any(last_part(a) == name for a in call.args) or argument(call, None, "within") is not None:
            return True
    return "reproseed.sources.find_generators" in project.called
