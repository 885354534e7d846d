import random
import string


def session_token(length=32):
    choose = random.SystemRandom().choice
    return "".join(choose(string.ascii_letters) for _ in range(length))
