from reproseed import deterministic, init

init(master_seed=1)
deterministic("warn")  # expect: RS701
