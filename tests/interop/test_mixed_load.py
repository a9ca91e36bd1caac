"""Twenty thousand jobs of four endings, inserted and worked by two processes of each language at once."""

from __future__ import annotations

import logging
from collections import Counter

from tests.interop.peers import Peer, Site, wait_for

JOBS = 20_000
BATCH = 500
QUEUES = ("go", "python", "shared")
ENDINGS = ("ok",) * 17 + ("error", "snooze", "cancel")
BODIES = {"ok": 1, "error": 2, "snooze": 2, "cancel": 1}
WORKERS = "{0}=50,shared=50"

logger = logging.getLogger(__name__)


def insert_all(peers: list[Peer]) -> dict[int, str]:
    """Insert all jobs, the peers by turns and at the same time; return how each is to end."""
    endings: dict[int, str] = {}
    for first in range(0, JOBS, BATCH * len(peers)):
        batches = []
        for turn, peer in enumerate(peers):
            begin = first + turn * BATCH
            args = [{"n": n, "how": ENDINGS[n % len(ENDINGS)]} for n in range(begin, begin + BATCH)]
            peer.send("insert", kind="interop_work", queue=QUEUES[begin // BATCH % 3], args=args)
            batches.append(args)
        for peer, args in zip(peers, batches, strict=True):
            ids = peer.hear("insert")["ids"]
            endings.update(zip(ids, (item["how"] for item in args), strict=True))
    return endings


def unexpected(peer: Peer, endings: dict[int, str]) -> list[str]:
    """What the peer complained of, but for the errors that the jobs were told to raise."""
    told = {f"msg=job {job_id} failed" for job_id, how in endings.items() if how == "error"}
    return [line for line in peer.complaints() if not any(line.endswith(text) for text in told)]


def test_none_is_lost_and_none_runs_twice(site: Site) -> None:
    """Each body begins as often as its ending asks, in a queue of both languages as in those of one."""
    go, python = (("-queues", WORKERS.format(name)) for name in ("go", "python"))
    with (
        site.go(*go) as one,
        site.go(*go) as two,
        site.python(*python) as three,
        site.python(*python) as four,
    ):
        peers = [one, three, two, four]
        endings = insert_all(peers)
        assert len(endings) == JOBS
        ids = list(endings)
        wanted = Counter("cancelled" if how == "cancel" else "completed" for how in endings.values())
        wait_for(lambda: site.states(ids) == wanted, "the end of all jobs", 300)
        assert site.begun() == {job_id: BODIES[how] for job_id, how in endings.items()}
        for peer in peers:
            peer.stop()
            assert unexpected(peer, endings) == []
        assert {client for (client,) in site.query(SHARED)} == {peer.id for peer in peers}
        bodies = [(peer.language, sum(site.begun(peer).values())) for peer in peers]
        logger.info("%d jobs in %.1f s; bodies: %s", JOBS, site.query(SECONDS)[0][0], bodies)


SHARED = "SELECT DISTINCT attempted_by[1] FROM river_job WHERE queue = 'shared'"
SECONDS = "SELECT extract(epoch FROM max(finalized_at) - min(created_at))::float FROM river_job"
