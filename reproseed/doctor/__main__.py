"""``python -m reproseed.doctor``."""

import sys

from reproseed.doctor import main

sys.exit(main())
