"""The experiments of benchmarks/reliability, on a small scale."""

import sys
from pathlib import Path

EXPERIMENTS = Path(__file__).parents[2] / "benchmarks" / "reliability"
sys.path.insert(0, str(EXPERIMENTS))
