import multiprocessing as mp

from datasets import Dataset


def tokenize_corpus(lines, tokenize):
    with mp.Pool(4) as pool:
        rows = [tokens for tokens in pool.imap_unordered(tokenize, lines)]  # expect: RS208
    return Dataset.from_list(rows)
