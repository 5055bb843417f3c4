import assert from 'node:assert/strict';
import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { fixtureStream } from '../../support/arrow-fixtures.ts';
import type { Outcome } from '../support/load-worker.ts';
import { metadataRanges, mutate } from '../support/mutate.ts';

const WORKER = fileURLToPath(new URL('../support/load-worker.js', import.meta.url));
const MUTANTS_PER_FIXTURE = 220;

/**
 * The engine runs in a process of its own: a fault that ends it is a finding, not the end of the test. Besides surviving,
 * it must never store fewer rows than the stream declares, which is what it does when it stops in the middle.
 */
describe('a stream with faults', () => {
  let worker: ChildProcess;
  before(async () => {
    worker = fork(WORKER, { serialization: 'advanced', stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
    await once(worker, 'message');
  });
  after(() => {
    if (worker.connected) worker.disconnect();
  });

  async function load(bytes: Buffer): Promise<Outcome> {
    const gone = new AbortController();
    const onExit = (): void => gone.abort();
    worker.once('exit', onExit);
    worker.send(bytes);
    try {
      // The worker sends nothing but outcomes once it is ready.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      return (await once(worker, 'message', { signal: gone.signal }))[0] as Outcome;
    } finally {
      worker.off('exit', onExit);
    }
  }

  const names = [
    'plain',
    'lz4',
    'zstd_nested',
    'dict_delta',
    'dict_replace',
    'string_view',
    'list_struct',
    'map',
    'multi',
    'json_ext',
  ];
  for (const name of names) {
    test(`is refused, or loads whole, or fails in good order: ${name}`, async () => {
      const stream = fixtureStream(name);
      const ranges = metadataRanges(stream);
      const counts = { refused: 0, loaded: 0, 'engine-error': 0, fault: 0 };
      for (let seed = 0; seed < MUTANTS_PER_FIXTURE; seed += 1) {
        const outcome = await load(mutate(stream, ranges, seed));
        counts[outcome.kind] += 1;
        assert.notEqual(outcome.kind, 'fault', `seed ${seed}: ${outcome.text}`);
        assert.equal(outcome.stored, outcome.rows, `seed ${seed} lost rows`);
      }
      assert.ok(counts.refused > counts.loaded, JSON.stringify(counts));
      assert.ok(counts.loaded > 0, JSON.stringify(counts));
    });
  }
});
