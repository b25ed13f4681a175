"""A process that measures one implementation: ``python -m benchmarks.worker '{...}'``, one repetition for each line.

Whatever runs before a repetition (imports, data, a tiny problem that loads the compiled code) is not measured.
"""

import importlib
import json
import os
import sys
from time import perf_counter, process_time

from . import gate, memory

TINY = 200


def main():
    order = json.loads(sys.argv[1])
    # Libraries may print; the answers go to the real output.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        calls = prepared(order)
    except ImportError as error:
        print(json.dumps({"skipped": error.msg}), file=answers)
        return
    print(json.dumps({}), file=answers)
    for _ in sys.stdin:
        answer = repetition(calls, order["of_draws"])
        if order["reference"]:
            answer["reference"] = gate.reference()
        print(json.dumps(answer), file=answers)


def prepared(order):
    """The calls to be measured: one, or one with a single draw and one with some of the draws."""
    module = importlib.import_module(f"benchmarks.{order['module']}")
    prepare, settings = getattr(module, order["function"]), order["settings"]
    if not order["files"]:
        return [prepare(**settings)]
    import numpy as np

    predictions, labels = (np.load(path) for path in order["files"])
    if order["warm_up"]:
        prepare(predictions[:TINY], labels[:TINY], **settings)()
    if not order["of_draws"]:
        return [prepare(predictions, labels, **settings)]
    draws = settings.pop("draws")
    return [prepare(predictions, labels, draws=count, **settings) for count in (draws, 1)]


def repetition(calls, of_draws):
    """Seconds, extra memory in MB and the result of one repetition; the time per draw is that of the last draws."""
    before, processor = memory.mark(), process_time()
    seconds, values = timed(calls[0])
    processor = process_time() - processor
    extra = memory.peak() - before
    if of_draws:
        one, _ = timed(calls[1])
        draws = values["draws"]
        seconds = one + (seconds - one) / (draws - 1) * (of_draws - 1)
    return {"seconds": seconds, "processor": processor, "megabytes": extra, "values": values}


def timed(call):
    start = perf_counter()
    values = call()
    return perf_counter() - start, values


if __name__ == "__main__":
    main()
