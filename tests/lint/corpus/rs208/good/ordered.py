import multiprocessing as mp
from concurrent.futures import ThreadPoolExecutor


def tokenize_corpus(lines, tokenize):
    with mp.Pool(4) as pool:
        return list(pool.imap(tokenize, lines))


def read_all(paths, read):
    with ThreadPoolExecutor() as pool:
        return list(pool.map(read, paths))
