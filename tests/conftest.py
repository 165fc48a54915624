"""Settings of the whole suite: the same examples in every run, no time limit per example, one thread per process."""

import torch
from hypothesis import settings

settings.register_profile("iifl", derandomize=True, deadline=None)
settings.load_profile("iifl")
torch.set_num_threads(1)  # the networks of the tests are far too small to share among threads
