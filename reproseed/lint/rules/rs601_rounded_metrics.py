"""Metrics are rounded before they are written.

Four decimals hide every difference below a thousand units in the last place: two runs look equal
and are not. Write full precision to files, rs.verify.log_metric(...) does, and round only what is
printed.
"""

import ast
import re
from collections.abc import Iterator

from reproseed.lint.project import Project, last_part
from reproseed.lint.source import Module

LEVEL = "I"
BAD = (
    """
def log(file, epoch, loss):
    file.write(f"{epoch},{loss:.4f}\\n")
""",
    """
def log(writer, step, loss):
    writer.add_scalar("loss", round(loss, 3), step)
""",
)
GOOD = (
    """
def log(file, epoch, loss):
    file.write(f"{epoch},{loss!r}\\n")
""",
    """
def log(epoch, loss):
    print(f"{epoch} {loss:.4f}")
""",
)

_WRITERS = (
    "write",
    "writelines",
    "writerow",
    "writerows",
    "add_scalar",
    "add_scalars",
    "log_metric",
    "log_metrics",
)
_DUMPS = (
    "json.dump",
    "json.dumps",
    "wandb.log",
    "mlflow.log_metric",
    "reproseed.verify.log_metric",
)
_METRIC = re.compile(r"loss|acc|metric|score|psnr|ssim|perplexity|ppl|bleu|(^|_)f1|(^|_)auc|error", re.IGNORECASE)
_FIXED = re.compile(r"^\.[0-7]f$")
_PERCENT = re.compile(r"%\.[0-7]f")


def check(module: Module, project: Project) -> Iterator[ast.AST]:
    """Find rounded metrics among what is written to files and trackers."""
    for call in [*module.methods(*_WRITERS), *module.calls(*_DUMPS)]:
        if last_part(call.func) == "write" and "std" in ast.unparse(call.func):
            continue  # a person reads it
        if any(_rounds_metric(module, n) for a in _given(call) for n in ast.walk(a)):
            yield call


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(k.value for k in call.keywords)]


def _rounds_metric(module: Module, node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        rounding = module.resolve(node.func) in ("builtins.round", "numpy.round")
        return rounding and bool(node.args) and _is_metric(node.args[0])
    if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
        spec = "".join(str(p.value) for p in ast.walk(node.format_spec) if isinstance(p, ast.Constant))
        return bool(_FIXED.match(spec)) and _is_metric(node.value)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod) and isinstance(node.left, ast.Constant):
        return bool(_PERCENT.search(str(node.left.value))) and _is_metric(node.right)
    return False


def _is_metric(node: ast.expr) -> bool:
    return bool(_METRIC.search(ast.unparse(node)))
