import reproseed as rs
from tqdm import tqdm

with rs.seeded(task="eval"):
    outputs = [model(b) for b in rs.steps(loader)]  # expect: RS702
    for i, batch in enumerate(tqdm(rs.steps(loader))):  # expect: RS702
        print(i, batch.shape)
    for step in rs.steps(100):  # expect: RS702
        print(step + 1)
