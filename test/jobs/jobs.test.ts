import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { ServiceError } from '../../src/errors/service-error.ts';
import { Jobs } from '../../src/jobs/jobs.ts';
import type { EnterPhase, NewJob, JobsSettings } from '../../src/jobs/jobs.ts';
import type { TelemetryEvent } from '../../src/telemetry/events.ts';

const LIMITS = {
  answerSeconds: 1,
  runningMax: 2,
  waitingMax: 2,
  waitingPerCallerMax: 2,
  attemptsMax: 3,
  waitSeconds: 3600,
  keptMax: 2,
};

function openJobs(limits: Partial<JobsSettings['limits']> = {}) {
  let ids = 0;
  const events: TelemetryEvent[] = [];
  const jobs = new Jobs({
    limits: { ...LIMITS, ...limits },
    telemetry: { emit: (event) => void events.push(event) },
    now: () => 1000 + ids,
    makeId: () => `job${(ids += 1)}`,
    hasTable: async (id) => id !== 'dropped',
  });
  return { jobs, events };
}

function subject(sameAs: string, exclusiveKey = sameAs): NewJob {
  return { kind: 'work', databaseId: 'db', table: ['t'], tableId: 't1', caller: 'me', exclusiveKey, sameAs, spec: {} };
}

/** Work that ends when the test says so. */
function held() {
  let end: (result: { readonly value: number }) => void = () => {};
  let fail: (error: unknown) => void = () => {};
  const outcome = new Promise<{ readonly value: number }>((resolve, reject) => {
    end = resolve;
    fail = reject;
  });
  const phases: EnterPhase[] = [];
  const work = async (enter: EnterPhase) => {
    phases.push(enter);
    enter('working');
    const result = await outcome;
    enter('committing');
    return result;
  };
  return { work, end, fail, isStarted: () => phases.length > 0 };
}

suite('a job whose table is dropped', () => {
  const missing = { kind: 'TableNotFound', message: 'The table was dropped before the job finished.' };

  test('while it runs fails, whatever its work returns', async () => {
    const { jobs, events } = openJobs();
    const about = (key: string): NewJob => ({ ...subject(key), tableId: 'dropped' });
    await assert.rejects(jobs.start(about('a'), async () => ({})).outcome, missing);
    const failing = async (): Promise<never> => {
      throw new Error('no such file');
    };
    const { id, outcome } = jobs.start(about('b'), failing);
    await assert.rejects(outcome, missing);
    assert.deepEqual(
      [(await jobs.find(id))?.state, (await jobs.find(id))?.failure?.message],
      ['FAILED', missing.message],
    );
    assert.ok(events.every(({ kind }) => kind === 'job-ended'));
  });

  test('while it waits is not begun', async () => {
    const { jobs } = openJobs({ runningMax: 1 });
    const first = held();
    const { outcome: done } = jobs.start(subject('a'), first.work);
    const second = held();
    const { outcome } = jobs.start({ ...subject('b'), tableId: 'dropped' }, second.work);
    first.end({ value: 1 });
    await done;
    await assert.rejects(outcome, missing);
    assert.equal(second.isStarted(), false);
  });
});

suite('a job', () => {
  test('runs at once, and its result is returned and remembered', async () => {
    const { jobs } = openJobs();
    const work = held();
    const { id, outcome } = jobs.start(subject('a'), work.work);
    assert.deepEqual([(await jobs.find(id))?.state, (await jobs.find(id))?.phase], ['IN_PROGRESS', 'working']);
    work.end({ value: 7 });
    assert.deepEqual(await outcome, { value: 7 });
    const job = await jobs.find(id);
    assert.deepEqual([job?.state, job?.result, typeof job?.endedAt], ['DONE', { value: 7 }, 'number']);
  });

  test('that fails reports to its caller, and keeps only the public sentence', async () => {
    const { jobs, events } = openJobs();
    const cause = new Error('/secret/path');
    const refused = jobs.start(subject('a'), async () => {
      throw new ServiceError('ServiceUnavailable', 'The storage is full.', { cause });
    });
    const broken = jobs.start(subject('b'), async () => {
      throw cause;
    });
    assert.equal((await refusalOf(async () => refused.outcome)).kind, 'ServiceUnavailable');
    await assert.rejects(broken.outcome, cause);
    assert.deepEqual((await jobs.find(refused.id))?.failure, {
      phase: 'waiting',
      message: 'The storage is full.',
      isRetryable: true,
    });
    assert.equal((await jobs.find(broken.id))?.failure?.message, 'The job failed.');
    assert.deepEqual(
      events.map(({ kind }) => kind),
      ['background-failed', 'job-ended', 'background-failed', 'job-ended'],
    );
  });

  test('that no caller waits for may fail without ending the process', async () => {
    const { jobs } = openJobs();
    const work = held();
    const { id } = jobs.start(subject('a'), work.work);
    work.fail(new ServiceError('InvalidInput', 'No.'));
    await new Promise(setImmediate);
    assert.equal((await jobs.find(id))?.state, 'FAILED');
  });

  test('asked for again by the same request while it runs is the same job', async () => {
    const { jobs } = openJobs();
    const work = held();
    const first = jobs.start(subject('a'), work.work);
    const second = jobs.start(subject('a'), async () => assert.fail('it runs already'));
    assert.equal(second.id, first.id);
    work.end({ value: 1 });
    assert.deepEqual(await second.outcome, { value: 1 });
    assert.notEqual(jobs.start(subject('a'), async () => ({})).id, first.id);
  });
});

suite('jobs wait', () => {
  test('while as many run as may, and start in order', async () => {
    const { jobs } = openJobs();
    const works = [held(), held(), held(), held()];
    const started = works.map(({ work }, index) => jobs.start(subject(`s${index}`), work));
    assert.deepEqual(
      works.map((work) => work.isStarted()),
      [true, true, false, false],
    );
    works[1]?.end({ value: 1 });
    await started[1]?.outcome;
    await new Promise(setImmediate);
    assert.deepEqual(
      works.map((work) => work.isStarted()),
      [true, true, true, false],
    );
  });

  test('for another job with their key, and let others past', async () => {
    const { jobs } = openJobs();
    const [first, same, other] = [held(), held(), held()];
    const running = jobs.start(subject('a', 'key'), first.work);
    jobs.start(subject('b', 'key'), same.work);
    jobs.start(subject('c', 'elsewhere'), other.work);
    assert.deepEqual([same.isStarted(), other.isStarted()], [false, true]);
    first.end({ value: 1 });
    await running.outcome;
    await new Promise(setImmediate);
    assert.ok(same.isStarted());
  });

  test('up to a bound, and no longer than a bound', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const { jobs } = openJobs({ runningMax: 1, waitingMax: 1, waitSeconds: 5 });
    jobs.start(subject('a'), held().work);
    const late = jobs.start(subject('b'), held().work);
    const refusal = await refusalOf(async () => jobs.start(subject('c'), held().work));
    assert.equal(refusal.kind, 'ServiceUnavailable');
    t.mock.timers.tick(5000);
    assert.equal((await refusalOf(async () => late.outcome)).kind, 'ServiceUnavailable');
    assert.equal((await jobs.find(late.id))?.state, 'TIMED_OUT');
  });
});

suite('cancelling', () => {
  test('ends a job that waits', async () => {
    const { jobs } = openJobs({ runningMax: 1 });
    jobs.start(subject('a'), held().work);
    const waiting = jobs.start(subject('b'), async () => assert.fail('it was cancelled'));
    const cancelled = await jobs.cancel(waiting.id);
    assert.deepEqual([cancelled?.state, cancelled?.isCancelRequested], ['CANCELLED', true]);
    assert.match((await refusalOf(async () => waiting.outcome)).message, /cancelled/);
  });

  test('ends a job that runs before its next phase', async () => {
    const { jobs } = openJobs();
    const work = held();
    const running = jobs.start(subject('a'), work.work);
    const asked = await jobs.cancel(running.id);
    assert.deepEqual([asked?.state, asked?.isCancelRequested], ['IN_PROGRESS', true]);
    work.end({ value: 1 });
    assert.match((await refusalOf(async () => running.outcome)).message, /cancelled/);
    assert.equal((await jobs.find(running.id))?.state, 'CANCELLED');
  });

  test('leaves a job that is over as it is, and knows no others', async () => {
    const { jobs } = openJobs();
    const done = jobs.start(subject('a'), async () => ({}));
    await done.outcome;
    assert.equal((await jobs.cancel(done.id))?.state, 'DONE');
    assert.equal(await jobs.cancel('nobody'), undefined);
  });
});

suite('the registry', () => {
  test('lists the newest first, of one database, and forgets the oldest that are over', async () => {
    const { jobs } = openJobs();
    const running = held();
    jobs.start({ ...subject('long'), kind: 'long' }, running.work);
    for (const name of ['a', 'b', 'c']) await jobs.start({ ...subject(name), kind: name }, async () => ({})).outcome;
    await new Promise(setImmediate);
    assert.deepEqual(
      (await jobs.list('db')).map(({ subject: { kind } }) => kind),
      ['c', 'b', 'long'],
    );
    assert.deepEqual(await jobs.list('other'), []);
  });

  test('closes after its jobs, cancels those that wait, and takes no more', async () => {
    const { jobs } = openJobs({ runningMax: 1 });
    const work = held();
    jobs.start(subject('a'), work.work);
    const waiting = jobs.start(subject('b'), held().work);
    let isClosed = false;
    const closing = jobs.drain().then(() => (isClosed = true));
    assert.equal((await refusalOf(async () => waiting.outcome)).kind, 'ServiceUnavailable');
    assert.equal(isClosed, false);
    work.end({ value: 1 });
    await closing;
    assert.equal((await refusalOf(async () => jobs.start(subject('c'), held().work))).kind, 'ServiceUnavailable');
  });

  test('a running job that is interrupted ends before its next phase', async () => {
    const { jobs } = openJobs();
    const work = held();
    const job = jobs.start(subject('a'), work.work);
    jobs.interrupt();
    work.end({ value: 1 });
    await refusalOf(async () => job.outcome);
    assert.equal((await jobs.find(job.id))?.state, 'CANCELLED');
  });

  test('closes at once, and says which jobs it abandons', () => {
    const { jobs, events } = openJobs();
    const { id } = jobs.start(subject('a'), held().work);
    jobs.close();
    const told = events.filter(({ kind }) => kind === 'job-interrupted');
    assert.deepEqual(told, [
      { kind: 'job-interrupted', jobId: id, job: 'work', table: 't', phase: 'working', milliseconds: 0 },
    ]);
  });
});

/** What the work was refused with; anything else fails the test. */
async function refusalOf(work: () => Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await work().then(
    () => assert.fail('nothing was refused'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ServiceError, `not a refusal: ${String(error)}`);
  return error;
}

suite('jobs of several callers', () => {
  const of = (caller: string, name: string): NewJob => ({ ...subject(name), caller });

  test('are bounded for each caller first, so that one cannot fill the queue for others', () => {
    const { jobs } = openJobs({ runningMax: 1, waitingMax: 4, waitingPerCallerMax: 2 });
    for (const name of ['a1', 'a2', 'a3']) jobs.start(of('ann', name), held().work);
    assert.throws(() => jobs.start(of('ann', 'a4'), held().work), /2 jobs of this caller are already in the queue/);
    for (const name of ['b1', 'b2']) jobs.start(of('bob', name), held().work);
    assert.throws(() => jobs.start(of('cid', 'c1'), held().work), /4 jobs are already in the queue/);
    jobs.close();
  });

  test('take turns, whoever came with more', async () => {
    const { jobs } = openJobs({ runningMax: 1, waitingMax: 10, waitingPerCallerMax: 10 });
    const order: string[] = [];
    const outcomes = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map(async (name) => {
      const caller = name.charAt(0);
      return jobs.start(of(caller, name), async () => {
        order.push(name);
        return {};
      }).outcome;
    });
    await Promise.all(outcomes);
    assert.deepEqual(order, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4']);
  });
});
