import { randomUUID } from 'node:crypto';
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { Field, Schema, tableFromIPC } from 'apache-arrow';
import { makeBatch } from '../../../src/formats/row-batches.ts';
import { buildData } from '../../../src/formats/types/build-data.ts';
import { parseType } from '../../../src/formats/types/type-text.ts';
import { writeRows } from '../../../src/formats/write-rows.ts';
import { readJsonOn, readOn, runCliOn } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let server: TestServer;
let folder: string;

before(async () => {
  server = await startServer();
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-files-'));
});
after(async () => {
  await server.close();
  await rm(folder, { recursive: true, force: true });
});

const cli = async (...argv: readonly string[]) => runCliOn(server.url, argv);

async function json(...argv: readonly string[]): Promise<any> {
  return readJsonOn(server.url, argv);
}

async function ndjson(table: string, ...argv: readonly string[]): Promise<any[]> {
  const out = await readOn(server.url, ['export', table, '-', '--format', 'ndjson', ...argv]);
  return out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line));
}

async function file(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

const PEOPLE = 'id,name,born,vec\n1,Ada,1815-12-10,"[1, 0.5]"\n2,"Bo ""B""",,"[0, 1]"\n';

test('an import that names the table before the file is refused, and shown the right order', async () => {
  const path = await file('turned.csv', PEOPLE);
  const { code, err } = await cli('import', 'turned', path);
  assert.equal(code, 2);
  assert.match(err, /turned\.csv is a file\. The table comes last: tiltyard import .*turned\.csv turned/);
});

test('a CSV file becomes a table, and comes back in every format', async () => {
  const path = await file('people.csv', PEOPLE);
  const summary = await json('import', path, 'people');
  assert.equal(summary.rows, 2);
  assert.equal(summary.parts, 1);
  assert.deepEqual(await ndjson('people'), [
    { id: 1, name: 'Ada', born: '1815-12-10', vec: [1, 0.5] },
    { id: 2, name: 'Bo "B"', born: null, vec: [0, 1] },
  ]);
  for (const name of ['people.parquet', 'people.arrow', 'people.arrows', 'people.ndjson', 'again.csv']) {
    const target = join(folder, name);
    assert.equal((await json('export', 'people', target)).rows, 2);
    assert.equal((await cli('export', 'people', target)).code, 2, 'a file is not replaced unasked');
    const table = name.replace('.', '_');
    await json('import', target, table);
    assert.deepEqual(await ndjson(table), await ndjson('people'), name);
  }
  assert.equal(tableFromIPC(await readFile(join(folder, 'people.arrow'))).numRows, 2);
  assert.ok(!(await readdir(folder)).some((name) => name.endsWith('.part') || name.endsWith('.tiltyard-import')));
});

test('a column whose name a table cannot have is imported under another name, as the refusal says', async () => {
  const path = await file('dotted.csv', 'id,a.b\n1,2\n');
  const { code, err } = await cli('import', path, 'dotted');
  assert.equal(code, 1);
  assert.match(err, /The column name "a\.b" contains a dot.*\nhint: Give it another name: --rename 'a\.b=NAME'\.\n/);
  await json('import', path, 'dotted', '--rename', 'a.b=a_b');
  assert.deepEqual(await ndjson('dotted'), [{ id: 1, a_b: 2 }]);
});

test('a CSV file with any delimiter comes back as it was', async () => {
  const names = ['tab\there', 'end]', 'back\\slash', '^start', 'a-z', 'a|b', 'b'];
  const rows = names.map((name, id) => ({ id, name }));
  await json('import', await file('named.ndjson', rows.map((row) => JSON.stringify(row)).join('\n')), 'named');
  for (const [index, delimiter] of ['\\t', ']', '\\', '^', '-', '|'].entries()) {
    const path = join(folder, `named-${index}.csv`);
    await json('export', 'named', path, `--delimiter=${delimiter}`);
    const [header] = (await readFile(path, 'utf8')).split('\n');
    assert.equal(header, `id${delimiter.replace('\\t', '\t')}name`);
    await json('import', path, `named-${index}`, `--delimiter=${delimiter}`);
    assert.deepEqual(await ndjson(`named-${index}`), rows, delimiter);
  }
});

test('rows are added with the types of the table, and a table is replaced on request', async () => {
  const codes = await file('codes.csv', 'code,n\n007,1.5\n');
  await json('import', codes, 'codes');
  const more = await file('more.csv', 'code,n\n12,3\n');
  assert.match((await cli('import', more, 'codes')).err, /already exists/);
  await json('import', more, 'codes', '--mode', 'append');
  assert.deepEqual(await ndjson('codes'), [
    { code: '007', n: 1.5 },
    { code: '12', n: 3 },
  ]);
  await json('import', more, 'codes', '--mode', 'overwrite', '--column', 'n=int8', '--rename', 'code=key');
  assert.deepEqual(await ndjson('codes'), [{ key: 12, n: 3 }]);
});

test('a folder of files is one table, sent in parts of the wanted size', async () => {
  await mkdir(join(folder, 'many', '2024'), { recursive: true });
  await file('many/a.csv', 'n\n1\n2\n3\n');
  await file('many/2024/b.ndjson', '{"n": 4.5}\n{"n": 5}\n');
  await file('many/readme.md', 'not read');
  const summary = await json('import', join(folder, 'many'), 'many', '--batch-rows', '2', '--column', 'n=float64');
  assert.deepEqual([summary.files, summary.rows, summary.parts], [2, 5, 3]);
  assert.deepEqual((await ndjson('many')).map(({ n }) => n).toSorted(), [1, 2, 3, 4.5, 5]);
});

test('a whole number of a later file that the type of the first would round is refused', async () => {
  await mkdir(join(folder, 'digits'));
  const first = await file('digits/1.ndjson', '{"n": 0.5, "v": [1, 2]}\n');
  const later = await file('digits/2.ndjson', '{"n": 9007199254740993, "v": [1, 2]}\n');
  const { code, err } = await cli('import', first, later, 'digits');
  assert.equal(code, 1);
  assert.match(
    err,
    /2\.ndjson: Line 1: the value of "n" is "9007199254740993"; expected a number that float64 does not/,
  );
  await file('digits/2.ndjson', '{"n": 1, "v": [1, 123456789]}\n');
  assert.match(
    (await cli('import', first, later, 'digits')).err,
    /Line 1: .*"v" has the number 123456789, which a vector/,
  );
  await json('import', first, later, 'digits', '--type', 'v=float32[2]');
  assert.equal((await ndjson('digits')).length, 2);
});

test('export takes a condition, columns, a limit and a version', async () => {
  const first = await file('v.csv', 'a,b\n1,x\n2,y\n3,z\n');
  const { version } = await json('import', first, 'travel');
  await json('import', first, 'travel', '--mode', 'append');
  assert.equal((await ndjson('travel')).length, 6);
  assert.deepEqual(await ndjson('travel', '--at', String(version), '--where', 'a > 1', '--select', 'b'), [
    { b: 'y' },
    { b: 'z' },
  ]);
  assert.equal((await ndjson('travel', '--limit', '4')).length, 4);
  const wrong = await cli('export', 'travel', join(folder, 'no.csv'), '--where', 'nope > 1');
  assert.notEqual(wrong.code, 0);
  assert.ok(!(await readdir(folder)).includes('no.csv'));
});

test('export sorts, calculates columns, and reads a tag and a branch', async () => {
  await json('import', await file('t.csv', 'a,b\n2,x\n3,y\n1,z\n'), 'states');
  await json('tag', 'create', 'states', 'first');
  await json('branch', 'create', 'states', 'trial');
  await json('update', 'states', '--set', 'a=a * 10', '--all', '--branch', 'trial');
  await json('delete', 'states', '--where', 'a = 3');
  const sorted = ['--order-by', 'a:desc', '--select', 'twice=a * 2'];
  assert.deepEqual(await ndjson('states', ...sorted), [{ twice: 4 }, { twice: 2 }]);
  assert.deepEqual(await ndjson('states', ...sorted, '--at', 'first', '--limit', '1'), [{ twice: 6 }]);
  assert.deepEqual(await ndjson('states', ...sorted, '--branch', 'trial', '--limit', '1'), [{ twice: 60 }]);
  assert.equal((await cli('export', 'states', '-', '--format', 'csv', '--branch', 'none')).code, 5);
  assert.equal((await cli('export', 'states', '-', '--format', 'csv', '--at', 'first', '--branch', 'trial')).code, 2);
});

test('Arrow goes to the server as it is: compressed, with long offsets, views and dictionaries', async () => {
  const expected = JSON.parse(await readFile('test/fixtures/arrow/expected.json', 'utf8'));
  for (const name of [
    'lz4',
    'zstd',
    'zstd_nested',
    'large_list',
    'string_view',
    'dict',
    'dict_delta',
    'dict_replace',
    'multi',
    'legacy',
    'zerobatch',
  ]) {
    const path = `test/fixtures/arrow/${name}.stream`;
    const { rows } = await json('import', path, `as_${name}`);
    assert.equal(rows, expected[name].rows, name);
    assert.equal((await ndjson(`as_${name}`)).length, rows, name);
  }
});

test('text that follows Arrow takes its types', async () => {
  const later = await file('later.ndjson', '{"id": 99, "s": "late"}\n');
  const { rows } = await json('import', 'test/fixtures/arrow/plain.stream', later, 'mixed');
  assert.equal((await ndjson('mixed')).length, rows);
  assert.deepEqual(await ndjson('mixed', '--where', 'id = 99', '--select', 'id,s'), [{ id: 99, s: 'late' }]);
});

test('an Arrow file passes too, and a compressed one is refused where its columns are to be changed', async () => {
  const whole = join(folder, 'zstd.arrow');
  await writeFile(whole, asArrowFile(await readFile('test/fixtures/arrow/zstd.stream')));
  const { rows } = await json('import', whole, 'from_file');
  assert.deepEqual(await ndjson('from_file'), await ndjson('as_zstd'));
  assert.ok(rows > 0);
  for (const option of [
    ['--skip', 'id'],
    ['--batch-rows', '5'],
  ]) {
    const { code, err } = await cli('import', 'test/fixtures/arrow/zstd.stream', 'changed', ...option);
    assert.equal(code, 1);
    assert.match(
      err,
      /zstd\.stream: The buffers of the Arrow file are compressed\. Nothing was imported\. "tiltyard import" can load it without changing columns/,
    );
  }
  const cut = join(folder, 'cut.arrows');
  await writeFile(cut, (await readFile('test/fixtures/arrow/lz4.stream')).subarray(0, -200));
  const { code, err } = await cli('import', cut, 'cut_off');
  assert.equal(code, 1);
  assert.match(err, /truncated/);
  assert.equal((await cli('describe', 'cut_off')).code, 5);
});

/** The file form of a stream; what is in the footer is not looked at, only where it begins. */
function asArrowFile(stream: Buffer): Buffer {
  const footer = Buffer.alloc(16);
  const length = Buffer.alloc(4);
  length.writeInt32LE(footer.length);
  return Buffer.concat([Buffer.from('ARROW1\0\0'), stream, footer, length, Buffer.from('ARROW1')]);
}

test('a file that cannot be read is refused with its name and line, and nothing is left behind', async () => {
  const path = await file('bad.csv', 'a,b\n1,2\n3\n');
  const { code, err } = await cli('import', path, 'bad');
  assert.equal(code, 1);
  assert.match(err, /bad\.csv: The row on line 3 has 1 cells.* Nothing was imported\./);
  assert.match((await cli('import', '-', 'bad')).err, /Standard input cannot be imported: save it to a file first\./);
  assert.equal((await cli('import', path)).code, 2);
  assert.equal((await cli('import', path, 'bad', '--mode', 'x')).code, 2);
  assert.equal((await cli('import', path, 'bad', '--column', 'a')).code, 2);
  assert.ok(!(await readdir(folder)).some((name) => name.endsWith('.tiltyard-import')));
});

const numbers = (count: number): readonly number[] => Array.from({ length: count }, (_, row) => row);

const numbersOf = async (table: string): Promise<readonly number[]> =>
  (await ndjson(table)).map(({ n }) => n).toSorted((a: number, b: number) => a - b);

const numbersFile = async (name: string): Promise<string> => file(name, `n\n${numbers(50).join('\n')}\n`);

for (const requests of [2, 3, 5, 7, 8]) {
  test(`an import that is cut off at request ${requests} shows no part of the rows, and resumed it doubles none`, async (t) => {
    const path = await numbersFile(`long-${requests}.csv`);
    const table = `long-${requests}`;
    const proxy = await cuttingProxy(server.url, { requests });
    t.after(() => proxy.close());
    const argv = ['import', path, table, '--batch-rows', '10'];
    const cut = await runCliOn(proxy.url, argv);
    assert.equal(cut.code, 3, cut.err);
    const isSent = requests === 8;
    const empty = /Nothing was imported so far.* --resume\. Until then, the table long-\d exists without rows\./;
    assert.match(cut.err, isSent ? /rows may have been added.* --resume\.\n/ : empty);
    assert.equal((await numbersOf(table)).length, isSent ? 50 : 0);
    assert.match((await runCliOn(proxy.url, argv)).err, /was interrupted/);
    proxy.reconnect();
    const resumed = await runCliOn(proxy.url, [...argv, '--resume', '--json']);
    assert.equal(resumed.code, 0, resumed.err);
    assert.equal(JSON.parse(resumed.out).rows, 50);
    assert.deepEqual(await numbersOf(table), numbers(50));
  });
}

test('rows are added or replaced in one step, which a failure undoes', async (t) => {
  const path = await numbersFile('whole.csv');
  await json('import', await file('first.csv', 'n\n-1\n'), 'whole');
  for (const mode of ['append', 'overwrite']) {
    const argv = ['import', path, 'whole', '--mode', mode, '--batch-rows', '10'];
    const before = await numbersOf('whole');
    const proxy = await cuttingProxy(server.url, { requests: 7 });
    t.after(() => proxy.close());
    assert.match((await runCliOn(proxy.url, argv)).err, /Nothing was imported so far.* --resume\.\n/);
    assert.deepEqual(await numbersOf('whole'), before);
    proxy.reconnect();
    assert.equal((await runCliOn(proxy.url, [...argv, '--resume'])).code, 0);
    assert.deepEqual(await numbersOf('whole'), mode === 'append' ? [-1, ...numbers(50)] : numbers(50));
  }
});

test('without a server nothing is left behind, and the same command works once there is one', async () => {
  const path = await file('early.csv', 'n\n1\n');
  const proxy = await cuttingProxy(server.url, {});
  proxy.close();
  const { code, err } = await runCliOn(proxy.url, ['import', path, 'early']);
  assert.equal(code, 3);
  assert.doesNotMatch(err, /--resume/);
  assert.ok(!(await readdir(folder)).some((name) => name.endsWith('.tiltyard-import')));
});

async function stateOf(name: string): Promise<{ readonly path: string; readonly saved: any }> {
  const found = (await readdir(folder)).find(
    (each) => each.startsWith(`.${name}`) && each.endsWith('.tiltyard-import'),
  );
  const path = join(folder, found ?? assert.fail('there is no unfinished import'));
  return { path, saved: JSON.parse(await readFile(path, 'utf8')) };
}

test('rows that a server may have added before it went away are not added again by the same command', async (t) => {
  await json('import', await file('doubted.csv', 'n\n-1\n'), 'doubted');
  const path = await numbersFile('doubted-rows.csv');
  const argv = ['import', path, 'doubted', '--mode', 'append'];
  const proxy = await cuttingProxy(server.url, { inDoubtAt: '/insert' });
  t.after(() => proxy.close());
  const { code, err } = await runCliOn(proxy.url, argv);
  assert.equal(code, 3, err);
  assert.match(err, /The rows may have been added: .* --resume/);
  assert.equal((await stateOf('doubted-rows')).saved.pendingRows, 50);
  proxy.reconnect();
  assert.match((await runCliOn(proxy.url, argv)).err, /was interrupted/);
  assert.equal((await runCliOn(proxy.url, [...argv, '--resume'])).code, 0);
  assert.deepEqual(await numbersOf('doubted'), [-1, ...numbers(50)]);
});

for (const [mode, address] of [
  ['append', '/insert'],
  ['overwrite', '/create'],
] as const) {
  test(`${mode}: rows that never reached the server are sent again, whatever others have written since`, async (t) => {
    const table = `unsent-${mode}`;
    await json('import', await numbersFile(`${table}-first.csv`), table);
    const path = await file(
      `${table}.csv`,
      `n\n${numbers(50)
        .map((n) => n + 100)
        .join('\n')}\n`,
    );
    const argv = ['import', path, table, '--mode', mode];
    const proxy = await cuttingProxy(server.url, { unsentAt: address });
    t.after(() => proxy.close());
    const cut = await runCliOn(proxy.url, argv);
    assert.match(cut.err, /The rows may have been added: .* --resume/);
    if (mode === 'append') await json('import', await numbersFile(`${table}-other.csv`), table, '--mode', 'append');
    else await json('update', table, '--set', 'n=n', '--all');
    proxy.reconnect();
    const resumed = await runCliOn(proxy.url, [...argv, '--resume', '--json']);
    assert.equal(resumed.code, 0, resumed.err);
    assert.equal(JSON.parse(resumed.out).rows, 50);
    const found = await numbersOf(table);
    assert.equal(found.filter((n) => n >= 100).length, 50);
    assert.equal(found.length, mode === 'append' ? 150 : 50);
  });

  test(`${mode}: rows that were added before the reply was lost stay added once, whatever others have written since`, async (t) => {
    const table = `added-${mode}`;
    await json('import', await file(`${table}-first.csv`, 'n\n-1\n'), table);
    const path = await numbersFile(`${table}.csv`);
    const argv = ['import', path, table, '--mode', mode];
    const proxy = await cuttingProxy(server.url, { inDoubtAt: address });
    t.after(() => proxy.close());
    assert.equal((await runCliOn(proxy.url, argv)).code, 3);
    await json('import', await file(`${table}-other.csv`, 'n\n1000\n'), table, '--mode', 'append');
    proxy.reconnect();
    const resumed = await runCliOn(proxy.url, [...argv, '--resume']);
    assert.equal(resumed.code, 0, resumed.err);
    const first = mode === 'append' ? [-1] : [];
    assert.deepEqual(await numbersOf(table), [...first, ...numbers(50), 1000]);
  });
}

test('an import whose server may have forgotten its key is resumed only if the table is as it was', async (t) => {
  await json('import', await file('aged.csv', 'n\n-1\n'), 'aged');
  const path = await numbersFile('aged-rows.csv');
  const argv = ['import', path, 'aged', '--mode', 'append'];
  const proxy = await cuttingProxy(server.url, { unsentAt: '/insert' });
  t.after(() => proxy.close());
  assert.equal((await runCliOn(proxy.url, argv)).code, 3);
  const { path: state, saved } = await stateOf('aged-rows');
  await writeFile(state, JSON.stringify({ ...saved, pendingSince: saved.pendingSince - 24 * 3600 * 1000 }));
  proxy.reconnect();
  await json('update', 'aged', '--set', 'n=n', '--all');
  const refused = await runCliOn(proxy.url, [...argv, '--resume']);
  assert.equal(refused.code, 2);
  assert.match(refused.err, /aged was changed in the meantime, so it is not known whether the rows were added/);
  const { version } = await json('describe', 'aged');
  await writeFile(state, JSON.stringify({ ...saved, baseVersion: version, pendingSince: 0 }));
  assert.equal((await runCliOn(proxy.url, [...argv, '--resume'])).code, 0);
  assert.deepEqual(await numbersOf('aged'), [-1, ...numbers(50)]);
});

test('an import that has finished, or never started, cannot be resumed: its rows would be added twice', async () => {
  const path = await file('finished.csv', 'n\n1\n');
  await json('import', path, 'finished');
  for (const [table, ...mode] of [['finished', '--mode', 'append'], ['unstarted']] as const) {
    const { code, err } = await cli('import', path, table, ...mode, '--resume');
    assert.equal(code, 2, err);
    assert.match(err, /no unfinished import of these files.*start the import without --resume/);
  }
  assert.deepEqual(await numbersOf('finished'), [1]);
});

test('an upload that the server has forgotten is sent again', async (t) => {
  const path = await numbersFile('forgotten.csv');
  const argv = ['import', path, 'forgotten', '--batch-rows', '10'];
  const proxy = await cuttingProxy(server.url, { requests: 5 });
  t.after(() => proxy.close());
  assert.equal((await runCliOn(proxy.url, argv)).code, 3);
  const [state = ''] = (await readdir(folder)).filter((name) => name.endsWith('.tiltyard-import'));
  const saved = JSON.parse(await readFile(join(folder, state), 'utf8'));
  await writeFile(join(folder, state), JSON.stringify({ ...saved, uploadId: randomUUID() }));
  proxy.reconnect();
  const resumed = await runCliOn(proxy.url, [...argv, '--resume']);
  assert.equal(resumed.code, 0, resumed.err);
  assert.match(resumed.err, /The server no longer has the parts of the interrupted import: they are sent again\./);
  assert.deepEqual(await numbersOf('forgotten'), numbers(50));
});

test('Ctrl-C during an import leaves nothing behind, and says so', async (t) => {
  const path = await numbersFile('stopped.csv');
  await json('import', await file('kept.csv', 'n\n-1\n'), 'stopped-kept');
  for (const [table, ...mode] of [['stopped'], ['stopped-kept', '--mode', 'append']] as const) {
    let stop = (): void => assert.fail('no signal is handled');
    const proxy = await cuttingProxy(server.url, { onRequest: (count) => count === 5 && stop() });
    t.after(() => proxy.close());
    const onInterrupt = (act: () => void): (() => void) => {
      stop = act;
      return () => {};
    };
    const { code, err } = await runCliOn(proxy.url, ['import', path, table, '--batch-rows', '10', ...mode], {
      onInterrupt,
    });
    assert.equal(code, 130, err);
    assert.match(err, /Interrupted\. Nothing was imported\.\n$/);
  }
  assert.equal((await cli('describe', 'stopped')).code, 5);
  assert.deepEqual(await numbersOf('stopped-kept'), [-1]);
  assert.ok(!(await readdir(folder)).some((name) => name.endsWith('.tiltyard-import')));
});

for (const hasStatus of [true, false]) {
  test(`an import says why it waits ${hasStatus ? 'in its progress line' : 'on a line'}, and Ctrl-C ends the wait`, async (t) => {
    const path = await numbersFile(`held-${hasStatus}.csv`);
    const table = `held-${hasStatus}`;
    const proxy = await cuttingProxy(server.url, { busyAt: 'upload_part_id=2' });
    t.after(() => proxy.close());
    let stop = (): void => assert.fail('no signal is handled');
    let shown = '';
    let err = '';
    const show = (text: string): void => {
      if (text.includes('waiting 30 s')) {
        shown += text;
        stop();
      }
    };
    const { code } = await runCliOn(proxy.url, ['import', path, table, '--batch-rows', '10'], {
      onInterrupt: (act) => {
        stop = act;
        return () => {};
      },
      status: hasStatus ? show : undefined,
      err: (text) => {
        err += text;
        if (!hasStatus) show(text);
      },
    });
    assert.equal(code, 130, err);
    assert.equal(shown, `importing ${table}  waiting 30 s: The disk of the server is full.${hasStatus ? '' : '\n'}`);
    assert.match(err, /Interrupted\. Nothing was imported\.\n$/);
    assert.equal((await cli('describe', table)).code, 5);
  });
}

test('Ctrl-C during an export leaves no file, and says so', async (t) => {
  await json('import', await numbersFile('to-export.csv'), 'to-export');
  let stop = (): void => assert.fail('no signal is handled');
  const proxy = await cuttingProxy(server.url, { stopAt: '/query', onStop: () => stop() });
  t.after(() => proxy.close());
  const kept = await file('interrupted.parquet', 'kept');
  for (const name of ['interrupted.csv', 'interrupted.ndjson', 'interrupted.parquet']) {
    const argv = ['export', 'to-export', join(folder, name), '--force'];
    const { code, out, err } = await runCliOn(proxy.url, argv, {
      onInterrupt: (act) => {
        stop = act;
        return () => {};
      },
    });
    assert.deepEqual({ code, out, err }, { code: 130, out: '', err: 'Interrupted. No file was written.\n' });
  }
  assert.deepEqual(
    (await readdir(folder)).filter((name) => name.startsWith('interrupted')),
    ['interrupted.parquet'],
  );
  assert.equal(await readFile(kept, 'utf8'), 'kept');
});

interface Cut {
  readonly requests?: number;
  readonly onRequest?: (count: number) => unknown;
  /** The reply to this request stops after its first bytes. */
  readonly stopAt?: string;
  readonly onStop?: () => void;
  /** The server says once that the outcome of this request is not known, and goes away. */
  readonly inDoubtAt?: string;
  /** The connection is lost before this request reaches the server. */
  readonly unsentAt?: string;
  /** The server refuses this request for now. */
  readonly busyAt?: string;
}

/** Lets some requests through, then loses the reply to one, and passes nothing more on until `reconnect`. */
async function cuttingProxy(
  target: string,
  { requests = Number.MAX_SAFE_INTEGER, onRequest, inDoubtAt, unsentAt, busyAt, stopAt, onStop }: Cut,
) {
  let left = requests;
  let isInDoubt = false;
  let isBack = false;
  let count = 0;
  const proxy = createServer((incoming, reply) => {
    left -= 1;
    count += 1;
    onRequest?.(count);
    if (!isBack && unsentAt !== undefined && incoming.url?.includes(unsentAt) === true) left = Math.min(left, -1);
    if (left < 0) {
      incoming.socket.destroy();
      return;
    }
    if (busyAt !== undefined && incoming.url?.includes(busyAt) === true) {
      incoming.resume();
      reply.writeHead(503, { 'retry-after': '3600' }).end('{"error":"The disk of the server is full."}');
      return;
    }
    const isLost = left === 0;
    const isDoubted = !isInDoubt && inDoubtAt !== undefined && incoming.url?.includes(inDoubtAt) === true;
    const forward = request(
      new URL(incoming.url ?? '/', target),
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        if (isLost) {
          answer.resume();
          answer.on('end', () => incoming.socket.destroy());
          return;
        }
        if (isDoubted) {
          isInDoubt = true;
          answer.resume();
          proxy.close();
          reply.writeHead(503, { 'retry-after': '0', connection: 'close' }).end();
          return;
        }
        reply.writeHead(answer.statusCode ?? 500, answer.headers);
        if (stopAt !== undefined && incoming.url?.includes(stopAt) === true) {
          answer.once('data', (piece: Buffer) => reply.write(piece.subarray(0, 8), onStop));
          return;
        }
        answer.pipe(reply);
      },
    );
    incoming.pipe(forward);
  });
  await new Promise<void>((resolve) => {
    proxy.listen(0, '127.0.0.1', resolve);
  });
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    reconnect: () => {
      left = Number.MAX_SAFE_INTEGER;
      isBack = true;
      if (!proxy.listening) proxy.listen(port, '127.0.0.1');
    },
    close: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
}

async function parquetOf(name: string, lists: readonly (readonly number[] | null)[], type = 'list<float32>') {
  const fields = [new Field('id', parseType('int64'), true), new Field('embedding', parseType(type), true)];
  const schema = new Schema(fields);
  const children = [
    buildData(
      parseType('int64'),
      lists.map((_, row) => row),
    ),
    buildData(parseType(type), lists),
  ];
  const path = join(folder, name);
  await writeFile(path, writeRows('parquet', schema, [makeBatch(schema, children, lists.length)]));
  return path;
}

async function typeOf(table: string, column: string): Promise<string> {
  const { schema } = await json('describe', table);
  const { type } = schema.fields.find((field: any) => field.name === column);
  return type.type === 'fixed_size_list' ? `vector[${type.length}]` : type.type;
}

const vector = (row: number, length = 8): readonly number[] => Array.from({ length }, (_, at) => (row + at) % 5);

test('lists of one length in a Parquet file become vectors, and the command says so', async () => {
  const path = await parquetOf('embeddings.parquet', [vector(1), null, vector(2)]);
  const { code, out, err } = await cli('import', path, 'embeddings');
  assert.equal(code, 0, err);
  assert.match(err, /embedding becomes float32\[8\] \(list<float32> in the file; the first 2 lists have 8 values\)/);
  assert.match(err, /--no-vector embedding keeps lists/);
  assert.match(out, /^Imported 3 rows \([\d.]+ \w+\) into embeddings in \d+\.\d s\.$/m);
  assert.equal(await typeOf('embeddings', 'embedding'), 'vector[8]');
  assert.equal((await cli('import', path, 'as_lists', '--no-vector', 'embedding')).code, 0);
  assert.equal(await typeOf('as_lists', 'embedding'), 'list');
  const short = await parquetOf('short.parquet', [vector(1, 3), vector(2, 3)]);
  await json('import', short, 'short_lists');
  assert.equal(await typeOf('short_lists', 'embedding'), 'list');
  await json('import', short, 'short_vectors', '--vector', 'embedding');
  assert.equal(await typeOf('short_vectors', 'embedding'), 'vector[3]');
  const wrong = await cli('import', short, 'wrong_length', '--vector', 'embedding:4');
  assert.equal(wrong.code, 1);
  assert.match(wrong.err, /Row 1: the value of "embedding" has 3 values instead of 4/);
  await json('import', path, 'embeddings', '--mode', 'append');
  await json('import', path, 'as_lists', '--mode', 'append');
  assert.equal((await ndjson('embeddings')).length, 6);
  assert.equal((await ndjson('as_lists')).length, 6);
});

test('a dry run prints the plan, and sends nothing', async () => {
  const path = await parquetOf('plan.parquet', [vector(1), vector(2)], 'list<float64>');
  const { code, out, err } = await cli(
    'import',
    path,
    'planned',
    '--dry-run',
    '--rename',
    'id=key',
    '--type',
    'id=int32',
  );
  assert.equal(code, 0, err);
  assert.match(out, /Would import 1 file \(2 rows, [\d.]+ \w+, parquet\) into planned, mode create/);
  assert.match(out, /id → key +int32 +chosen/);
  assert.match(out, /embedding +float64\[8\] +list<float64> in the file; the first 2 lists have 8 values/);
  assert.equal((await cli('describe', 'planned')).code, 5);
  const { columns } = await json('import', path, 'planned', '--dry-run');
  assert.deepEqual(
    columns.map(({ name, type }: any) => `${name} ${type}`),
    ['id int64', 'embedding float64[8]'],
  );
});

test('of a file that cannot be read to its end nothing is imported, in every mode', async () => {
  const lists = [...Array.from({ length: 3000 }, (_, row) => vector(row)), vector(0, 7)];
  const path = await parquetOf('breaks.parquet', lists);
  const parts = ['--batch-rows', '1000'];
  const created = await cli('import', path, 'breaks', ...parts);
  assert.equal(created.code, 1);
  assert.match(created.err, /Row 3001: .*7 values instead of 8.* Nothing was imported/s);
  assert.equal((await cli('describe', 'breaks')).code, 5);

  const good = await parquetOf('good.parquet', [vector(1), vector(2)]);
  await json('import', good, 'kept');
  for (const mode of ['append', 'overwrite']) {
    const { code, err } = await cli('import', path, 'kept', '--mode', mode, ...parts);
    assert.equal(code, 1);
    assert.match(err, /Nothing was imported/);
    assert.equal((await ndjson('kept')).length, 2, mode);
  }
  assert.ok(!(await readdir(folder)).some((name) => name.endsWith('.tiltyard-import')));
});

test('lists that are in a table already become vectors by one command', async () => {
  const path = await parquetOf('later.parquet', [vector(1), null, vector(2)]);
  await json('import', path, 'later_vectors', '--no-vector', 'embedding');
  const { length, version } = await json('column', 'vector', 'later_vectors', 'embedding');
  assert.equal(length, 8);
  assert.ok(version > 1);
  assert.equal(await typeOf('later_vectors', 'embedding'), 'vector[8]');
  const rows = await ndjson('later_vectors');
  assert.deepEqual(
    rows.map(({ embedding }) => embedding),
    [vector(1), null, vector(2)],
  );
  assert.equal((await cli('column', 'vector', 'later_vectors', 'id')).code, 2);
  assert.equal((await cli('column', 'vector', 'later_vectors', 'nope')).code, 2);
  const mixed = await parquetOf('mixed.parquet', [vector(1), vector(2, 3), vector(3, 9)]);
  await json('import', mixed, 'mixed_lists');
  const refused = await cli('column', 'vector', 'mixed_lists', 'embedding');
  assert.equal(refused.code, 1);
  assert.match(refused.err, /2 rows have a list in .*embedding.* that does not have 8 values/);
});
