import contextlib

import reproseed as rs

rs.init(master_seed=1, deterministic="error")
rs.reseed(1, 0)
evaluation = rs.seeded(task="eval", restore=True)


def main(model, loader):
    with rs.seeded(task="init"):
        model.reset()
    with contextlib.ExitStack() as stack:
        stack.enter_context(rs.seeded(task="sample"))
        stack.enter_context(rs.deterministic())
    decorated = rs.seeded(task="eval")(model)
    with evaluation:
        return decorated
