import reproseed as rs

rs.init(master_seed=1)
rng = rs.stream("augment").numpy_generator()
g = rs.stream("shuffle").torch_generator()
print(rng.random(), g)
