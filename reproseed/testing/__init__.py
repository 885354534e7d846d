"""What tests and careful runs ask: who seeds behind the run's back, what a block leaves behind, does it resume."""

from reproseed.agreement import assert_ranks_agree
from reproseed.testing.addresses import watch_addresses
from reproseed.testing.assertions import assert_draws_nothing, assert_leaves_no_trace, assert_resumes_exactly
from reproseed.testing.seeding import end_watch, watch_seeding, watch_whole_run
from reproseed.testing.strays import Stray

__all__ = [
    "Stray",
    "assert_draws_nothing",
    "assert_leaves_no_trace",
    "assert_ranks_agree",
    "assert_resumes_exactly",
    "end_watch",
    "watch_addresses",
    "watch_seeding",
    "watch_whole_run",
]
