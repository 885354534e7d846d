import reproseed as rs
import reproseed.testing

rs.testing.watch_seeding("warn")  # expect: RS701
rs.preserved()  # expect: RS701
