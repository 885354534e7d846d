import reproseed as rs

rs.init(master_seed=1)
rs.seeded(task="init")  # expect: RS701
weights = [0.0] * 10
