import multiprocessing as mp


def tokenize_corpus(lines, tokenize):
    with mp.Pool(4) as pool:
        return [tokens for tokens in pool.imap_unordered(tokenize, lines)]  # expect: RS208
