import assert from 'node:assert/strict';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import fc from 'fast-check';
import { metadataRanges, mutate } from './arrow/mutate.ts';
import { sqlTexts } from './guard/sql-generator.ts';
import { fixtureStream, seededRandom } from './support/arrow-fixtures.ts';
import { sampleStream } from './support/arrow-tables.ts';
import { Client } from './support/client.ts';
import type { Answer } from './support/client.ts';
import { startServerProcess } from './support/server-process.ts';
import type { ServerProcess } from './support/server-process.ts';

const ARROW_BODIES = 10_000;
const SQL_TEXTS = 10_000;
const AT_ONCE = 8;
const SEED = 20_260_101;

const FIXTURES = [
  'plain',
  'lz4',
  'zstd',
  'dict',
  'dict_delta',
  'list',
  'struct',
  'map',
  'decimal128',
  'multi',
  'string_view',
];

/** Names that other servers have taken for paths, for other names, or for nothing. */
const NAMES = [
  '.',
  '..',
  '...',
  '../victim',
  '../../etc/passwd',
  '/abs',
  'a/b',
  'a\\b',
  'a%2fb',
  'a%00b',
  'vic\ntim',
  'vic\0tim',
  'victim.',
  'victim ',
  ' victim',
  'VICTIM',
  'vіctim',
  'vic\u200btim',
  '\u202emitciv',
  '\ufeffvictim',
  'victim\u0301',
  'a?b',
  'a#b',
  '%',
  '%zz',
  '~',
  '*',
  '|',
  '<x>',
  'a"b',
  "a'b",
  'a`b',
  'a;b',
  'a b',
  'CON',
  'nul',
  '.lance',
  'victim.lance',
  '__manifest',
  '_versions',
  'é',
  '日本',
  '🦄',
  'x'.repeat(255),
  'x'.repeat(256),
  'é'.repeat(128),
  'x'.repeat(10_000),
  '$',
  'a$b',
  '$a',
  'a$',
  '-',
  '--',
  '-rf',
  '\u0085',
  '\u2028',
];

suite('against a server that must survive everything', { timeout: 900_000 }, () => {
  let folder: string;
  let server: ServerProcess;
  let client: Client;
  let worker: number;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'tiltyard-campaign-'));
    server = await startServerProcess(join(folder, 'data'), ['--log-level=info', '--http-uploads-max=64']);
    client = new Client(server.url);
    worker = server.workerPid();
    const made = await client.arrow('/v1/table/victim/create', sampleStream(50));
    assert.equal(made.status, 200, made.text);
  });

  after(async () => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });

  test('10,000 mutated Arrow bodies: no crash, no 5xx, and a table only where 200 was answered', async () => {
    const bodies = FIXTURES.map((name) => fixtureStream(name));
    const ranges = bodies.map(metadataRanges);
    const accepted = new Set<string>();
    await inParallel(ARROW_BODIES, async (index) => {
      const which = index % bodies.length;
      const body = mutate(bodies[which] ?? Buffer.alloc(0), ranges[which] ?? [], SEED + index);
      const name = `mutant-${index}`;
      const answer = await client.arrow(`/v1/table/${name}/create`, body);
      assertHarmless(answer, `mutant ${index} of ${FIXTURES[which]}`);
      if (answer.status === 200) accepted.add(name);
    });
    assert.equal(server.workerPid(), worker, 'the worker was replaced');
    const listed = await listTables(client);
    assert.deepEqual(new Set(listed.filter((name) => name.startsWith('mutant-'))), accepted);
  });

  test('10,000 SQL texts: no crash, no 5xx, and nothing changed', async () => {
    const before = await describeVictim(client);
    const good = fc.sample(fc.oneof(sqlTexts.condition, sqlTexts.number, sqlTexts.text), {
      numRuns: SQL_TEXTS,
      seed: SEED,
    });
    await inParallel(SQL_TEXTS, async (index) => {
      const text = index % 2 === 0 ? (good[index] ?? '') : scramble(good[index] ?? '', SEED + index);
      const answer = await client.post('/v1/table/victim/analyze_plan', { filter: adapt(text), k: 1 });
      assertHarmless(answer, `filter ${index}: ${adapt(text)}`);
      if (index % 10 === 0) {
        const update = { updates: [['price', adapt(text)]], predicate: 'id < 0' };
        assertHarmless(await client.post('/v1/table/victim/update', update), `expression ${index}: ${adapt(text)}`);
      }
    });
    assert.equal(server.workerPid(), worker, 'the worker was replaced');
    assert.deepEqual(await describeVictim(client), before);
  });

  test('odd names are refused with 400 or come back as they were, and nothing else is touched', async () => {
    const before = await describeVictim(client);
    for (const name of NAMES) {
      const id = encodeURIComponent(name);
      for (const path of [`/v1/table/${id}/create`, `/v1/tables/${id}`]) {
        const answer = await client.arrow(`${path}?mode=overwrite`, sampleStream(1));
        assertHarmless(answer, `name ${JSON.stringify(name)}`);
        if (answer.status !== 200) continue;
        const described = await client.post(`/v1/table/${id}/describe`, {});
        assert.equal(described.status, 200, described.text);
        assert.equal([...described.json.namespace, described.json.table].join('$'), name);
      }
    }
    assert.equal(server.workerPid(), worker, 'the worker was replaced');
    assert.deepEqual(await describeVictim(client), before);
    assert.deepEqual(await readdir(folder), ['data'], 'something was written outside of the data folder');
  });
});

function assertHarmless(answer: Answer, what: string): void {
  assert.ok(answer.status < 500, `${what}: ${answer.status} ${answer.text}`);
  assert.ok(
    !/\/tmp\/|\/root|\.cargo|\.rs:|panicked|GenericFailure|tokio/.test(answer.json?.detail ?? ''),
    `${what}: ${answer.text}`,
  );
}

/** The generator writes for another table: its columns are named as ours are. */
function adapt(text: string): string {
  return text
    .replaceAll('p.a', 'point.x')
    .replaceAll("p['x.y']", "point['x']")
    .replaceAll('`sp ace`', '`price`')
    .replaceAll(/\bbig\b/g, 'id')
    .replaceAll(/\bflag\b/g, '(id > 3)');
}

function scramble(text: string, seed: number): string {
  const random = seededRandom(seed);
  const pieces = [
    '(',
    ')',
    "'",
    '"',
    '`',
    ';',
    '--',
    '/*',
    ',',
    ' OR ',
    '$1',
    '?',
    '::',
    '[',
    ']',
    '\\',
    'SELECT 1',
    'repeat(',
    '\0',
    '\u200b',
  ];
  let result = text;
  for (let edits = 1 + random(3); edits > 0; edits -= 1) {
    const at = random(result.length + 1);
    const removed = random(3);
    result = result.slice(0, at) + (pieces[random(pieces.length)] ?? '') + result.slice(at + removed);
  }
  return result;
}

async function describeVictim(client: Client): Promise<unknown> {
  const { json } = await client.post('/v1/table/victim/describe', {});
  const rows = await client.post('/v1/table/victim/update', {
    updates: [['name', 'name']],
    predicate: "price = id * 1.5 AND name = concat('name ', CAST(id AS STRING))",
  });
  assert.equal(rows.status, 200, rows.text);
  return { schema: json.schema, location: json.location, rows: rows.json.updated_rows };
}

async function listTables(client: Client): Promise<readonly string[]> {
  const names: string[] = [];
  let token: string | undefined;
  do {
    const { json } = await client.get(
      `/v1/tables${token === undefined ? '' : `?page_token=${encodeURIComponent(token)}`}`,
    );
    names.push(...json.tables);
    token = json.page_token;
  } while (token !== undefined);
  return names;
}

async function inParallel(count: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      for (let index = next; index < count; index = next) {
        next += 1;
        await work(index);
      }
    }),
  );
}
