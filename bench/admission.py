"""Processor time of one answer of the webhook to an object of 1 MB: ``python -m bench.admission``.

Reading the request, the review and writing the answer are counted; TLS and the network are not.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import time

from bench.large_objects import CASES, Case
from bench.reviewing import reviewer, sent
from closeknit.admission import wire
from closeknit.admission.reviewer import Reviewer


async def _measured(asked: Reviewer, case: Case, body: bytes, rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        gc.collect()
        gc.disable()
        begin = time.process_time()
        uid, request = wire.read(body)
        review = await asked.review(case.family, request)
        wire.reviewed(uid, request, review)
        times.append(1000 * (time.process_time() - begin))
        gc.enable()
        # What was wrong before is no reason to refuse a change.
        assert review.allowed == (case.allowed or request.old is not None), [*map(str, review.problems[:3])]
    return sorted(times)


async def _main(words: str, rounds: int) -> None:
    asked = reviewer()
    for name, case in CASES.items():
        if words not in name:
            continue
        obj = case.grown(case.count())
        for old in (None, obj):
            body = sent(obj, old)
            times = await _measured(asked, case, body, rounds)
            median, late = times[rounds // 2], times[rounds * 99 // 100]
            print(
                f"{name}, {'changed' if old else 'new'}, {len(body) / 1e6:.1f} MB: median {median:.1f} ms,"
                f" p99 {late:.1f} ms of processor time",
                flush=True,
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", metavar="WORDS", help="cases whose name holds these words")
    parser.add_argument("--rounds", type=int, default=100, metavar="N", help="answers of each case")
    given = parser.parse_args()
    asyncio.run(_main(given.only, given.rounds))
