import torch


def vocabulary(documents):
    words = set()
    for document in documents:
        words = words.union(document.split())
    index = {}
    for number, word in enumerate(words):  # expect: RS207
        index[word] = torch.tensor(number)
    return index
