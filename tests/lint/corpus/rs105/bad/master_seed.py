from datetime import datetime

import reproseed as rs

rs.init(master_seed=int(datetime.now().timestamp()))  # expect: RS105
