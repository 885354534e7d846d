import torch


def closure(nodes, edges):
    for _ in range(3):
        nodes = nodes.union(edges)
    rest = set(range(10)) - set(edges)
    numbered = {node: torch.tensor(i) for i, node in enumerate(nodes)}
    return numbered, [torch.tensor(i * r) for i, r in enumerate(rest)]
