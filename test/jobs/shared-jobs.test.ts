import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import Database from 'libsql';
import { NotOwner } from '../../src/errors/service-error.ts';
import { Jobs } from '../../src/jobs/jobs.ts';
import type { EnterPhase, NewJob } from '../../src/jobs/jobs.ts';
import type { TelemetryEvent } from '../../src/telemetry/events.ts';
import { open, openNode, temporaryFile } from '../catalog/temporary-catalog.ts';
import { eventually } from '../support/eventually.ts';

const LIMITS = {
  answerSeconds: 1,
  runningMax: 1,
  waitingMax: 2,
  waitingPerCallerMax: 2,
  waitSeconds: 3600,
  attemptsMax: 3,
  keptMax: 5,
};
const LEASE = { leaseMilliseconds: 60_000, name: 'machine', address: 'http://node', release: '1.2.3' };
const CATALOG_MILLISECONDS = 200;

/** Two nodes on one catalog. Tables whose name starts with `lost` are not theirs. */
async function openNodes(context: TestContext) {
  const address = await temporaryFile(context);
  const events: TelemetryEvent[] = [];
  let ids = 0;
  const open = async (nodeId: string) => {
    const catalog = await openNode(context, address, nodeId, CATALOG_MILLISECONDS);
    await catalog.nodes.join({ id: nodeId, instance: nodeId, ...LEASE });
    const jobs = new Jobs({
      limits: LIMITS,
      telemetry: { emit: (event) => void events.push(event) },
      now: () => 1000 + ids,
      makeId: () => `job${(ids += 1)}`,
      hasTable: async () => true,
      shared: { store: catalog.jobs, attempts: catalog.attempts, owns: async (tableId) => !tableId.startsWith('lost') },
    });
    context.after(() => jobs.close());
    return { catalog, jobs };
  };
  const a = await open('a');
  const b = await open('b');
  const attemptsOf = async (tableId: string, id: string) => b.catalog.attempts.find({ tableId, work: `job ${id}` });
  return { a: a.jobs, b: b.jobs, address, events, open, attemptsOf, endA: async () => a.catalog.nodes.leave('a') };
}

function newJob(tableId: string): NewJob {
  const keys = { exclusiveKey: tableId, sameAs: tableId };
  return { kind: 'work', databaseId: 'db', table: ['t'], tableId, caller: 'me', spec: { of: tableId }, ...keys };
}

/** Work of two phases that goes on to the second one when the test says so. */
function held() {
  let proceed = (): void => {};
  const gate = new Promise<void>((resolve) => (proceed = resolve));
  const work = async (enter: EnterPhase) => {
    await enter('first');
    await gate;
    await enter('second');
    return { value: 7 };
  };
  return { work, proceed: () => proceed() };
}

suite('a job of another node', () => {
  test('is found from its start, with each phase, and with its result as soon as its caller has it', async (t) => {
    const { a, b } = await openNodes(t);
    const { work, proceed } = held();
    const { id, outcome, recorded } = a.start(newJob('x'), work);
    await recorded;
    const found = await b.find(id);
    assert.deepEqual([found?.state, found?.subject.spec], ['IN_PROGRESS', { of: 'x' }]);
    await eventually(async () => (await b.find(id))?.phase === 'first');
    proceed();
    await outcome;
    const ended = await b.find(id);
    assert.deepEqual([ended?.state, ended?.phase, ended?.result], ['DONE', 'second', { value: 7 }]);
  });

  test('is listed beside those of this node, newest first, in the same order by both', async (t) => {
    const { a, b } = await openNodes(t);
    for (const jobs of [a, b, a, b]) await jobs.start(newJob('x'), async () => ({})).outcome;
    const idsOf = async (jobs: Jobs): Promise<readonly string[]> => (await jobs.list('db')).map(({ id }) => id);
    assert.deepEqual(await idsOf(a), ['job4', 'job3', 'job2', 'job1']);
    assert.deepEqual(await idsOf(b), await idsOf(a));
    assert.deepEqual(await b.list('other'), []);
  });

  test('that runs stops before its next phase when it is cancelled here', async (t) => {
    const { a, b } = await openNodes(t);
    const { work, proceed } = held();
    const { id, outcome, recorded } = a.start(newJob('x'), work);
    await recorded;
    assert.equal((await b.cancel(id))?.isCancelRequested, true);
    await eventually(async () => (await a.find(id))?.isCancelRequested === true);
    proceed();
    await assert.rejects(outcome, /cancelled/);
    assert.equal((await b.find(id))?.state, 'CANCELLED');
  });

  test('that waits ends when it is cancelled here', async (t) => {
    const { a, b } = await openNodes(t);
    const { work, proceed } = held();
    const { outcome: done } = a.start(newJob('x'), work);
    const waiting = a.start(newJob('y'), async () => assert.fail('it was cancelled'));
    await waiting.recorded;
    assert.equal((await b.find(waiting.id))?.phase, 'waiting');
    await b.cancel(waiting.id);
    await eventually(async () => (await b.find(waiting.id))?.state === 'CANCELLED');
    await assert.rejects(waiting.outcome, /cancelled/);
    proceed();
    await done;
  });

  test('that is not known cannot be cancelled', async (t) => {
    const { b } = await openNodes(t);
    assert.equal(await b.cancel('nowhere'), undefined);
  });

  test('has failed when its node has ended before it, and may be started again', async (t) => {
    const { a, b, endA } = await openNodes(t);
    const { id, recorded } = a.start(newJob('x'), held().work);
    await recorded;
    await endA();
    const job = await b.find(id);
    assert.equal(job?.state, 'FAILED');
    assert.equal(job?.failure?.isRetryable, true);
    assert.match(job?.failure?.message ?? '', /^The node that ran the job stopped/);
    assert.deepEqual(
      (await b.list('db')).map(({ state }) => state),
      ['FAILED'],
    );
  });
});

suite('a job', () => {
  test('of a table that another node has taken over fails before its next phase, and may be started again', async (t) => {
    const { a, b, events } = await openNodes(t);
    const { id, outcome } = a.start(newJob('lost'), async (enter) => {
      await enter('first');
      return assert.fail('the table is lost');
    });
    await assert.rejects(outcome, NotOwner);
    const { failure } = (await b.find(id)) ?? {};
    assert.deepEqual([failure?.phase, failure?.isRetryable], ['first', true]);
    assert.match(failure?.message ?? '', /Another node took over the table/);
    assert.ok(events.every(({ kind }) => kind === 'job-ended'));
  });

  test('whose end the catalog could not store is stored later', async (t) => {
    const { a, b, address, events } = await openNodes(t);
    const { work, proceed } = held();
    const { id, outcome, recorded } = a.start(newJob('x'), work);
    await recorded;
    await eventually(async () => (await b.find(id))?.phase === 'first');
    const other = new Database(address);
    t.after(() => other.close());
    other.exec('begin immediate');
    proceed();
    assert.deepEqual(await outcome, { value: 7 });
    assert.equal((await b.find(id))?.state, 'IN_PROGRESS');
    assert.ok(events.some(({ kind }) => kind === 'background-failed'));
    other.exec('rollback');
    await eventually(async () => (await b.find(id))?.state === 'DONE');
  });

  test('that waits when its node shuts down has ended for every node', async (t) => {
    const { a, b } = await openNodes(t);
    const { work, proceed } = held();
    a.start(newJob('x'), work);
    const waiting = a.start(newJob('y'), async () => assert.fail('the node shuts down'));
    const drained = a.drain();
    proceed();
    await drained;
    assert.equal((await b.find(waiting.id))?.state, 'CANCELLED');
  });
});

suite('a resumable job', () => {
  const resumable = (tableId: string): NewJob => ({ ...newJob(tableId), isResumable: true });

  /** Registers the kind at a node; its work adds the id of each job that it goes on with. */
  function registerAt(jobs: Jobs, resumed: string[], work: () => Promise<object> = async () => ({ value: 8 })): void {
    jobs.registerKind('work', async ({ id, subject }) => ({
      subject: resumable(subject.tableId),
      work: async () => {
        resumed.push(id);
        return { ...(await work()) };
      },
    }));
  }

  test('whose node has ended continues on another one, under the same id', async (t) => {
    const { a, b, endA } = await openNodes(t);
    const { id, recorded } = a.start(resumable('x'), held().work);
    await recorded;
    const resumed: string[] = [];
    registerAt(b, resumed);
    b.startResuming();
    await endA();
    b.startResuming();
    await eventually(async () => (await b.find(id))?.state === 'DONE');
    assert.deepEqual([resumed, (await b.find(id))?.result], [[id], { value: 8 }]);
  });

  test('of a table that another node has taken over is left to that node', async (t) => {
    const { a, b } = await openNodes(t);
    const { id, outcome } = a.start(resumable('lost'), async (enter) => {
      await enter('first');
      return assert.fail('the table is lost');
    });
    await assert.rejects(outcome, NotOwner);
    await eventually(async () => (await b.find(id))?.endedAt === undefined);
    const resumed: string[] = [];
    registerAt(b, resumed);
    // Of this table b is not the owner either.
    b.startResuming();
    assert.deepEqual(resumed, []);
  });

  test('stops before its next phase when its node shuts down, and is not cancelled', async (t) => {
    const { a, b } = await openNodes(t);
    const { work, proceed } = held();
    const { id, outcome, recorded } = a.start(resumable('x'), work);
    await recorded;
    const drained = a.drain();
    proceed();
    await assert.rejects(outcome, /shutting down/);
    await drained;
    const resumed: string[] = [];
    registerAt(b, resumed);
    await eventually(async () => {
      b.startResuming();
      return (await b.find(id))?.state === 'DONE';
    });
    assert.deepEqual(resumed, [id]);
  });

  test('that was cancelled before its node ended is cancelled when it is resumed', async (t) => {
    const { a, b, endA } = await openNodes(t);
    const { id, recorded } = a.start(resumable('x'), held().work);
    await recorded;
    await b.cancel(id);
    await endA();
    b.registerKind('work', async () => ({
      subject: resumable('x'),
      work: async (enter) => {
        await enter('first');
        return assert.fail('it was cancelled');
      },
    }));
    b.startResuming();
    await eventually(async () => (await b.find(id))?.state === 'CANCELLED');
  });

  test('continues after a restart, however many others do', async (t) => {
    const { jobs, store, resumed } = await openRestarted(t, 130);
    jobs.startResuming();
    await eventually(async () => resumed.length === 130);
    await eventually(async () => (await store.listAbandoned(['work'])).length === 0);
    assert.equal(new Set(resumed).size, 130);
  });

  test('that cannot go on now keeps no others from it, and is left for the next attempt', async (t) => {
    const { a, b, endA } = await openNodes(t);
    const ids = [a.start(resumable('x'), held().work), a.start(resumable('y'), held().work)].map(({ id }) => id);
    await eventually(async () => (await b.list('db')).length === 2);
    await endA();
    let failures = 1;
    b.registerKind('work', async ({ subject }) => {
      failures -= 1;
      if (failures >= 0) throw new Error('the catalog is away');
      return { subject: resumable(subject.tableId), work: async () => ({ value: 8 }) };
    });
    b.startResuming();
    await eventually(async () => (await b.find(ids[1] ?? ''))?.state === 'DONE');
    assert.equal((await b.find(ids[0] ?? ''))?.state, 'IN_PROGRESS');
    b.startResuming();
    await eventually(async () => (await b.find(ids[0] ?? ''))?.state === 'DONE');
  });

  test('whose node ended during each of its attempts fails at the next node, which does not begin it', async (t) => {
    const { b, open, attemptsOf } = await openNodes(t);
    const [id, resumed]: [string, string[]] = ['job1', []];
    const { work, proceed } = held();
    t.after(proceed);
    for (const nodeId of ['c', 'd', 'e']) {
      const { jobs, catalog } = await open(nodeId);
      registerAt(jobs, resumed, async () => work(() => {}));
      if (nodeId === 'c') jobs.start(resumable('x'), work);
      else jobs.startResuming();
      const count = ['c', 'd', 'e'].indexOf(nodeId) + 1;
      await eventually(async () => (await attemptsOf('x', id)) === count);
      await catalog.nodes.leave(nodeId);
    }
    await eventually(async () => resumed.length === 2);
    registerAt(b, resumed);
    b.startResuming();
    await eventually(async () => (await b.find(id))?.state === 'FAILED');
    const { failure } = (await b.find(id)) ?? {};
    assert.match(failure?.message ?? '', /ended 3 times while this job ran/);
    assert.deepEqual([failure?.isRetryable, resumed.length, await attemptsOf('x', id)], [false, 2, 0]);
  });

  test('that runs while its process shuts down has not failed, whatever ends the process then', async (t) => {
    const { a, attemptsOf } = await openNodes(t);
    const { work, proceed } = held();
    t.after(proceed);
    const { id } = a.start(resumable('x'), work);
    await eventually(async () => (await attemptsOf('x', id)) === 1);
    a.handOver();
    await eventually(async () => (await attemptsOf('x', id)) === 0);
  });

  test('that waits for another node is kept, however many others have ended since', async (t) => {
    const { a, b, endA } = await openNodes(t);
    const { id, recorded } = a.start(resumable('x'), held().work);
    await recorded;
    const resumed: string[] = [];
    registerAt(b, resumed);
    await endA();
    for (let job = 0; job <= LIMITS.keptMax; job += 1) await b.start(newJob('y'), async () => ({})).outcome;
    b.startResuming();
    await eventually(async () => (await b.find(id))?.state === 'DONE');
    assert.deepEqual(resumed, [id]);
  });

  test('that is cancelled while others are resumed before it does not go on', async (t) => {
    const { jobs, store, resumed } = await openRestarted(t, 2);
    const [gate, first] = [held(), held()];
    jobs.registerKind('work', async ({ id, subject }) => {
      if (id === 'job0') {
        first.proceed();
        await gate.work(() => {});
      }
      const work = async (enter: EnterPhase) => {
        await enter('first');
        resumed.push(id);
        return {};
      };
      return { subject: { ...subject, isResumable: true, exclusiveKey: id, sameAs: id }, work };
    });
    jobs.startResuming();
    await first.work(() => {});
    assert.equal((await jobs.cancel('job1'))?.isCancelRequested, true);
    gate.proceed();
    await eventually(async () => (await store.find('job1'))?.endedAt !== undefined);
    assert.deepEqual([(await store.find('job1'))?.state, resumed], ['CANCELLED', ['job0']]);
  });

  test('that ends leaves no count behind, whether it succeeds, fails or is cancelled', async (t) => {
    const { a, attemptsOf } = await openNodes(t);
    const fail = async () => Promise.reject(new Error('no'));
    for (const outcome of ['DONE', 'FAILED', 'CANCELLED']) {
      const { work, proceed } = held();
      const { id, outcome: settled } = a.start(resumable('x'), outcome === 'FAILED' ? fail : work);
      if (outcome === 'CANCELLED') await a.cancel(id);
      proceed();
      await settled.catch(() => {});
      assert.deepEqual([(await a.find(id))?.state, await attemptsOf('x', id)], [outcome, 0]);
    }
  });
});

/** The only process, after one that has left so many jobs unfinished. */
async function openRestarted(context: TestContext, count: number) {
  const { jobs: store, attempts } = await open(context, await temporaryFile(context));
  const { exclusiveKey: _, sameAs: _same, ...subject } = newJob('x');
  for (let index = 0; index < count; index += 1) {
    const state = { state: 'IN_PROGRESS', phase: 'first', isCancelRequested: false, createdAt: index } as const;
    await store.save({ id: `job${index}`, subject, ...state }, LIMITS.keptMax);
  }
  const resumed: string[] = [];
  const settings = { limits: LIMITS, telemetry: { emit() {} }, now: () => 1000, makeId: () => 'new' };
  const jobs = new Jobs({ ...settings, hasTable: async () => true, shared: { store, attempts } });
  jobs.registerKind('work', async ({ id }) => ({
    subject: { ...subject, isResumable: true, exclusiveKey: id, sameAs: id },
    work: async () => {
      resumed.push(id);
      return {};
    },
  }));
  context.after(() => jobs.close());
  return { jobs, store, resumed };
}
