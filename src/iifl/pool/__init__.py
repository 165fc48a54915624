"""Many jobs at once: in processes on this machine, or on many by Ray; a live table, and a failure that stops nobody."""

from iifl.pool.engine import JobsFailedError, run_all, run_jobs, using
from iifl.pool.jobs import Job, Outcome

__all__ = ["Job", "JobsFailedError", "Outcome", "run_all", "run_jobs", "using"]
