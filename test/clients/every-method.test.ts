import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import * as lancedb from '@lancedb/lancedb';
import { CLASSES, tryMethod } from '../../clients/javascript/every-method.ts';
import { Side } from '../../clients/javascript/side.ts';
import { readEngineRelease } from '../../src/engine/native/engine-release.ts';
import { ADMIN_KEY } from '../support/server.ts';
import type { TestService } from '../support/server.ts';
import { startService } from '../support/service.ts';

/** Every public method of the LanceDB client is in the list of the docs, and behaves as the list says. */
const [, DOCS = ''] =
  /<!-- list:client-javascript -->(.*)<!-- \/list:client-javascript -->/s.exec(
    readFileSync(new URL('../../../docs/clients.md', import.meta.url), 'utf8'),
  ) ?? [];

let server: TestService;
let folder: string;
let remote: Side;
let local: Side;
before(async () => {
  server = await startService();
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-beside-'));
  remote = await Side.overService(lancedb, { url: server.url, key: ADMIN_KEY, database: 'default' });
  local = await Side.overFolder(lancedb, folder);
});
after(async () => {
  remote.close();
  local.close();
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

/** The methods below a heading, with their states in the newest release. */
function statesOf(title: string): ReadonlyMap<string, string> {
  const part = DOCS.split(/^### /m).find((each) => each.startsWith(`${title}\n`)) ?? assert.fail(title);
  const rows = [...part.matchAll(/^\| `(\w+)` \| ([a-z ]+) \|/gm)];
  return new Map(rows.map(([, method = '', state = '']) => [method, state]));
}

/** The package of the engine is the client, too. */
const OLDER_CLIENT = readEngineRelease().isFallback ? 'the list is that of the client of the main engine' : false;

for (const each of CLASSES) {
  suite(each.title, () => {
    test('has all of its methods in the docs, and no other', { skip: OLDER_CLIENT }, async () => {
      assert.deepEqual([...statesOf(each.title).keys()].toSorted(), (await each.methods(remote)).toSorted());
    });

    for (const [method, state] of statesOf(each.title)) {
      test(`${method}: ${state}`, async (t) => {
        if (OLDER_CLIENT !== false && !(await each.methods(remote)).includes(method)) return t.skip(OLDER_CLIENT);
        const { outcome, detail } = await tryMethod(each, method, { remote, local });
        return assert.equal(outcome, state, detail);
      });
    }
  });
}
