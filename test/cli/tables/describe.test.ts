import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Client } from '../../support/client.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import { readOn } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;

/** Version 2 is tagged on both branches: it has 3 rows on main, and 8 on the branch. */
before(async () => {
  server = await startServer();
  await new Client(server.url).arrow('/v1/table/orders/create', sampleStream(10));
  await done('branch', 'create', 'orders', 'trial');
  await done('delete', 'orders', '--where', 'id >= 3');
  await done('delete', 'orders', '--where', 'id >= 8', '--branch', 'trial');
  await done('tag', 'create', 'orders', 'of-main', '2');
  await done('tag', 'create', 'orders', 'of-trial', '2', '--branch', 'trial');
});
after(async () => server.close());

async function done(...argv: readonly string[]): Promise<string> {
  return readOn(server.url, argv);
}

test('describe --at shows the rows of that version', async () => {
  const counts = [
    [['--at', '1'], 10],
    [['--at', 'of-main'], 3],
    [['--at', 'of-trial'], 8],
    [['--at', '2', '--branch', 'trial'], 8],
  ] as const;
  for (const [state, count] of counts) {
    assert.match(await done('describe', 'orders', ...state), new RegExp(`^rows +${count} rows$`, 'm'), state.join(' '));
    assert.deepEqual(JSON.parse(await done('describe', 'orders', ...state, '--json')).size, { num_rows: count });
  }
  assert.match(await done('describe', 'orders'), /^rows +3 rows, .* in 1 fragment$/m);
  assert.match(await done('describe', 'orders', '--branch', 'trial'), /^rows +8 rows, .* in 1 fragment$/m);
});

test('describe and versions show the tags of the branch that they show', async () => {
  for (const command of ['describe', 'versions']) {
    for (const branch of [[], ['--branch', 'main']]) {
      assert.match(await done(command, 'orders', ...branch), /^ *2 .* of-main$/m, `${command} ${branch.join(' ')}`);
    }
    assert.match(await done(command, 'orders', '--branch', 'trial'), /^ *2 .* of-trial$/m, command);
  }
  assert.match(await done('describe', 'orders', '--at', 'of-trial'), /^ *2 .* of-trial$/m);
});

test('versions --branch main shows what created each version', async () => {
  assert.match(await done('versions', 'orders', '--branch', 'main'), /^ *2 .* rows deleted /m);
});
