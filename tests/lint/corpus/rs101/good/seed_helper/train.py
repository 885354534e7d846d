from utils import set_random_seed


def main(seed):
    set_random_seed(seed)


if __name__ == "__main__":
    main(3)
