"""A process of figure 8: seconds of a step of every side, by round, as JSON."""

import json
import sys

from benchmarks.speed.network import costs

if __name__ == "__main__":
    print(json.dumps(costs(int(sys.argv[1]))))
