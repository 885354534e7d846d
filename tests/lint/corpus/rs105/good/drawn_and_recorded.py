import logging

import reproseed as rs

log = logging.getLogger(__name__)

rs.init(master_seed=None)
log.info("master seed %d", rs.get_master_seed())
