import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RequestFinished } from '../../src/telemetry/events.ts';
import { ActivityHistory } from '../../src/telemetry/metrics/activity-history.ts';

const GAUGES = {
  requestsInFlight: 3,
  admissionWaiting: { read: 1, write: 2 },
  queuesRunning: 4,
  queuesWaiting: 5,
  jobs: { running: 6, waiting: 7 },
  memory: { rss: 1000, heap_used: 10 },
};

const finished = (status: number, milliseconds: number): RequestFinished => ({
  kind: 'request-finished',
  requestId: 'r1',
  operation: 'table.update',
  method: 'POST',
  dialect: 'lance',
  route: '/v1/table/{id}/update',
  status,
  milliseconds,
  caller: 'key:ops',
  database: 'default',
  bytesIn: 10,
  bytesOut: 20,
  errorKind: undefined,
  cause: undefined,
});

test('a point has the rates, the quantiles and the gauges of its ten seconds', () => {
  const history = new ActivityHistory(5);
  for (let count = 0; count < 40; count += 1) history.count(finished(200, 12));
  history.count(finished(404, 12));
  history.count(finished(500, 1e9));
  history.take(GAUGES, 1234);
  const [point] = history.list();
  assert.ok(point?.p50_seconds !== undefined && point.p99_seconds !== undefined);
  assert.ok(point.p50_seconds > 0 && point.p50_seconds < 0.1, String(point.p50_seconds));
  assert.ok(point.p99_seconds >= point.p50_seconds);
  const { p50_seconds: _p50, p95_seconds: _p95, p99_seconds: _p99, ...rest } = point;
  assert.deepEqual(rest, {
    at: 1234,
    succeeded_per_second: 4,
    refused_per_second: 0.1,
    failed_per_second: 0.1,
    in_flight: 3,
    queued: 3,
    tables_written: 4,
    writes_queued: 5,
    jobs_running: 6,
    jobs_queued: 7,
    memory_bytes: 1000,
  });
});

test('an interval without requests has rates of zero and no quantiles', () => {
  const history = new ActivityHistory(5);
  history.count(finished(200, 12));
  history.take(GAUGES, 1);
  history.take(GAUGES, 2);
  const [, point] = history.list();
  assert.equal(point?.succeeded_per_second, 0);
  assert.equal(point.p50_seconds, undefined);
});

test('the oldest points are forgotten', () => {
  const history = new ActivityHistory(3);
  for (let at = 0; at < 10; at += 1) history.take(GAUGES, at);
  assert.deepEqual(
    history.list().map(({ at }) => at),
    [7, 8, 9],
  );
});
