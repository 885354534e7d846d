from datasets import load_dataset


def splits(name):
    return load_dataset(name)["train"].train_test_split(test_size=0.1)  # expect: RS209
