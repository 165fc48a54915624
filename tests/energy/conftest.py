"""Lets the tests here import `energy_checks`, the checks that the planted-bug tests share with them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
