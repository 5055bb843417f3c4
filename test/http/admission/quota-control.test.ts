import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuotaControl } from '../../../src/http/admission/quota-control.ts';
import type { QuotaRefusal } from '../../../src/http/admission/quota-control.ts';
import { RateLimit } from '../../../src/http/admission/rate-limit.ts';
import type { Quota } from '../../../src/model/access.ts';
import { refusalOf } from '../../support/refusal.ts';

function control(requestsPerSecond = 0) {
  const refusals: QuotaRefusal[] = [];
  const rateLimit = new RateLimit({ now: () => 0 });
  const quotas = new QuotaControl({ requestsPerSecond, rateLimit, onRefusal: (refusal) => refusals.push(refusal) });
  return { quotas, refusals };
}

function reply() {
  const headers: Record<string, string> = {};
  return {
    headers,
    response: {
      getHeader: (name: string) => headers[name],
      setHeader(name: string, value: unknown) {
        headers[name] = String(value);
        return this as never;
      },
    },
  };
}

const caller = (quota?: Quota) => ({ id: 'key:a', quota });

test('without a quota and a default rate, nothing is counted and no header is sent', () => {
  const { quotas } = control();
  const { response, headers } = reply();
  for (let count = 0; count < 1000; count += 1) {
    assert.equal(quotas.enterCaller(caller(), 'read', response), undefined);
    assert.equal(quotas.enterDatabase({ id: 'd' }, 'read', response), undefined);
  }
  assert.deepEqual(headers, {});
});

test('the rate of a quota replaces the default rate of a caller', () => {
  const { quotas, refusals } = control(2);
  const { response, headers } = reply();
  for (let count = 0; count < 3; count += 1) {
    quotas.enterCaller(caller({ requestsPerSecond: 3 }), 'admin', reply().response);
  }
  const refusal = refusalOf(() => quotas.enterCaller(caller({ requestsPerSecond: 3 }), 'admin', response));
  assert.deepEqual([refusal.kind, refusal.retryAfterSeconds], ['Throttling', 1]);
  assert.deepEqual(headers, { 'ratelimit-policy': '"caller";q=3;w=1', ratelimit: '"caller";r=0;t=1' });
  assert.deepEqual(refusals, [{ quota: 'requests_per_second', subject: 'caller' }]);
});

test('a request with two rates names both, and the stricter one refuses it', () => {
  const { quotas } = control();
  const first = reply();
  quotas.enterCaller(caller({ requestsPerSecond: 10 }), 'read', first.response);
  const database = { id: 'd', quota: { requestsPerSecond: 1 } };
  quotas.enterDatabase(database, 'read', first.response);
  assert.deepEqual(first.headers, {
    'ratelimit-policy': '"caller";q=10;w=1, "database";q=1;w=1',
    ratelimit: '"caller";r=9;t=1, "database";r=0;t=1',
  });
  const { response } = reply();
  quotas.enterCaller(caller({ requestsPerSecond: 10 }), 'read', response);
  assert.match(refusalOf(() => quotas.enterDatabase(database, 'read', response)).message, /database receives more/);
});

test('a slot is free again when its request has ended, and only once', () => {
  const { quotas, refusals } = control();
  const quota = { concurrentReads: 2, concurrentWrites: 0 };
  const { response, headers } = reply();
  const enter = () => quotas.enterCaller(caller(quota), 'read', response);
  const [first, second] = [enter(), enter()];
  assert.match(refusalOf(enter).message, /2 reads in progress/);
  assert.deepEqual(headers, {
    'ratelimit-policy': '"caller-reads";q=2;qu="concurrent-requests"',
    ratelimit: '"caller-reads";r=0',
  });
  first?.();
  first?.();
  const third = enter();
  refusalOf(enter);
  second?.();
  third?.();
  assert.ok(enter());
  for (const work of ['write', 'ingest'] as const) {
    refusalOf(() => quotas.enterCaller(caller(quota), work, reply().response));
  }
  assert.deepEqual([...new Set(refusals.map(({ quota: name }) => name))], ['concurrent_reads', 'concurrent_writes']);
});

test('administration is never counted, so that a quota can be raised', () => {
  const { quotas } = control();
  const quota = { concurrentReads: 0, concurrentWrites: 0 };
  assert.equal(quotas.enterCaller(caller(quota), 'admin', reply().response), undefined);
});
