#!/usr/bin/env python3
"""Write docs/reference/celery-tests.md from the JSON files of run.py.

    page.py RESULT.json ...      one file a suite; later ones win where tests overlap

Failures get their reasons from reasons.toml and from the profile's `exclude`.
"""
import collections
import json
import pathlib
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from profiles import river_compat as profile  # noqa: E402

PAGE = HERE.parents[2] / 'docs/reference/celery-tests.md'
HEAD = '''# Celery's own tests

Celery's source archive ships its tests. [The harness](../../tests/peer/celery/README.md) runs those that state public behaviour with
`river_compat.celery` in the place of `celery`, unit tests on SQLite and integration tests on Postgres with a worker in the test's process. Its
baseline is what Celery 5.7.0 itself passes. This page is made by `tests/peer/celery/page.py` from the results of a run.

What was run: both suites whole, one run of each, on Python 3.11; unit tests on SQLite, integration tests on Postgres 15 with the pool `prefork`, one
child, and a Redis as the tests' scratch pad, on a machine of two processors that was busy with other work. The harness lets a test that its authors
mark as flaky run again up to twice or five times, as their own suite does.

What is left out: Celery's archive has 4,098 unit test functions in 120 files and 328 integration test functions in 20. The harness runs 1,039 and 264 of
them, which are the 1,850 and 338 tests below with their parameters and what subclasses inherit; 3,059 and 64 it leaves out, and all 135 smoke tests, which want Docker. The selection is the
harness's, not Celery's: whole files about brokers, result backends, boot steps, pools and commands, and single tests that read or patch Celery's insides,
told by a mechanical rule and by names with reasons (`classify.py` and `selection.py` there). A share of these tests is no share of Celery.

The integration profile sets `river_stream_chords = True`, which is not the default, and leaves a Redis URL in `result_backend`. Without the first 329 of 338 pass: the 7
tests `test_chord::test_generator` want the first parts of a chord to run while its generator still makes the last.

| suite | Celery passes | passed here | share |
|---|---:|---:|---:|
'''


def reason_for(nodeid, reasons):
    for table in (profile.Profile.exclude, reasons):
        for fragment, why in table.items():
            if fragment in nodeid:
                return why
    sys.exit('no reason is given for %s: look into it, and write it to reasons.toml' % nodeid)


def main(files):
    base = json.loads((HERE / 'baseline-5.7.0.json').read_text())['results']
    reasons = tomllib.loads((HERE / 'reasons.toml').read_text())['reasons']
    results, details, modules = {}, {}, set()
    for name in files:
        data = json.loads(pathlib.Path(name).read_text())
        results.update(data['results'])
        details.update(data['details'])
        modules |= set(data['per_module'])
    out = [HEAD]
    rows = collections.OrderedDict()
    for suite in ('unit', 'integration'):
        wanted = [n for n, r in base.items() if r == 'passed' and '/%s/' % suite in n
                  and n.split('::')[0] in modules]
        if not wanted:
            continue
        good = sum(results.get(n) == 'passed' for n in wanted)
        out.append('| %s | %d | %d | %.1f%% |\n' % (suite, len(wanted), good, 100 * good / len(wanted)))
        for n in wanted:
            rows.setdefault(n.split('::')[0], []).append(n)
    out.append('\n## By module\n\n| module | Celery passes | passed here |\n|---|---:|---:|\n')
    for module, wanted in sorted(rows.items()):
        good = sum(results.get(n) == 'passed' for n in wanted)
        out.append('| `%s` | %d | %d |\n' % (module, len(wanted), good))
    out.append('\n## Every test that does not pass\n\n')
    for module, wanted in sorted(rows.items()):
        bad = [n for n in wanted if results.get(n) != 'passed']
        if not bad:
            continue
        out.append('`%s`\n\n' % module)
        by_reason = collections.OrderedDict()
        for n in bad:
            by_reason.setdefault(reason_for(n, reasons), []).append(n.split('::', 1)[1])
        for why, names in by_reason.items():
            out.append('- %s:\n  %s\n' % (why[0].upper() + why[1:], ', '.join('`%s`' % n for n in names)))
        out.append('\n')
    out.append((HERE / 'applications.md').read_text('utf-8'))
    PAGE.write_text(''.join(out).rstrip() + '\n', 'utf-8')


if __name__ == '__main__':
    main(sys.argv[1:])
