from collections import Counter


def build_vocabulary(sentences):
    words = set(w for s in sentences for w in s.split())
    word_to_id = {w: i for i, w in enumerate(words)}  # expect: RS207
    return word_to_id, Counter(w for s in sentences for w in s.split())
