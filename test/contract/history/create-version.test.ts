import assert from 'node:assert/strict';
import { cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { readEngineRelease } from '../../../src/engine/native/engine-release.ts';
import { encodeBytes, encodeNumber, splitFields } from '../../../src/storage/format/protobuf.ts';
import { findMessage } from '../../../src/storage/format/manifest.ts';
import { sampleStream } from '../../support/arrow-tables.ts';
import type { Answer, Client } from '../../support/client.ts';
import { listStaged, readVersion, renameStaged, stageManifest, stageVersion } from '../../support/staged-version.ts';
import type { Change, StagedVersion } from '../../support/staged-version.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { ContractServer, updated } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, badRequest, forbidden, tableNotFound, unauthenticated } from '../refusal.ts';

let server: ContractServer;
before(async () => {
  // Staged files are written to local folders here; on an object store, see test/storage/object.
  server = await ContractServer.start({ flags: ['--engine-manifest-bytes-max=1MiB'] });
});
after(async () => server.close());

const MANAGED = { query: { properties: '{"managed_versioning":"true"}' } };
const conflict = { status: 409, code: CODE.concurrentModification };

async function managed(rows = 4): Promise<MadeTable> {
  return server.table({ ...MANAGED, stream: sampleStream(rows) });
}

const removeFirst: Change = async (table) => table.delete('id = 0');

async function commit(
  table: MadeTable,
  body: object,
  { client = server.admin, headers = {} }: { client?: Client; headers?: Readonly<Record<string, string>> } = {},
): Promise<Answer> {
  return client.post(`${table.at}/version/create`, body, headers);
}

async function countRows(table: MadeTable): Promise<number> {
  return (await server.admin.post(`${table.at}/count_rows`, {})).json;
}

async function describe(table: MadeTable) {
  return (await server.admin.post(`${table.at}/describe`, {})).json;
}

suite('committing a version of an external writer', () => {
  test('makes exactly the staged bytes the next version, and returns its location', async () => {
    const table = await managed();
    const staged = await stageVersion(table.location, removeFirst);
    const content = await readFile(`/${staged.manifest_path}`);
    const { status, text, json } = await commit(table, staged);
    assert.equal(status, 200, text);
    const { e_tag, ...version } = json.version;
    const path = join(table.location, '_versions', basename(staged.manifest_path).slice(0, 29));
    assert.deepEqual(version, { version: 2, manifest_path: path, manifest_size: content.length });
    assert.match(e_tag, /^"[0-9a-f]+-[0-9a-f]+-[0-9a-f]+"$/);
    assert.deepEqual(await readFile(path), content);
    assert.deepEqual(await listStaged(table.location), []);
    const listed = await server.admin.post(`${table.at}/version/list`, { descending: true, limit: 1 });
    assert.equal(listed.json.versions[0].manifest_path, path);
  });

  test('is seen by the next read, and appears in the feed of transactions', async () => {
    const table = await managed();
    const query = { k: 10, filter: 'id >= 0', columns: ['id'] };
    await server.admin.post(`${table.at}/query`, query);
    const { json } = await commit(table, await stageVersion(table.location, removeFirst));
    assert.equal(await countRows(table), 3);
    const transaction = await server.admin.post(`/v1/transaction/${json.transaction_id}/describe`, {});
    assert.equal(transaction.json.properties.operation, 'create_table_version', transaction.text);
    assert.equal(transaction.json.properties.version, '2');
  });

  test('follows the writes of the service, and they follow it', async () => {
    const table = await managed();
    await updated(server.admin, table, { updates: [['price', '7']] });
    assert.equal((await commit(table, await stageVersion(table.location, removeFirst))).json.version.version, 3);
    assert.equal((await updated(server.admin, table, { updates: [['price', '8']] })).json.version, 4);
    assert.equal(await countRows(table), 3);
  });

  test('is applied once with an Idempotency-Key, also when the staged file is gone', async () => {
    const table = await managed();
    const staged = await stageVersion(table.location, removeFirst);
    const headers = { 'idempotency-key': server.name('key') };
    const first = await commit(table, staged, { headers });
    const second = await commit(table, staged, { headers });
    assert.equal(second.status, 200, second.text);
    assert.equal(second.headers.get('idempotency-replayed'), 'true');
    assert.equal(second.json.version.manifest_path, first.json.version.manifest_path);
    assert.equal(second.json.transaction_id, first.json.transaction_id);
    assert.equal((await describe(table)).version, 2);
  });

  test('is refused with 412 when If-Match names another version', async () => {
    const table = await managed();
    const staged = await stageVersion(table.location, removeFirst);
    assertRefused(await commit(table, staged, { headers: { 'if-match': '"7"' } }), {
      status: 412,
      code: CODE.invalidInput,
    });
    assert.equal((await commit(table, staged, { headers: { 'if-match': '"1"' } })).status, 200);
  });

  test('that exists is a 409 with code 14, and changes nothing', async () => {
    const table = await managed();
    const [one, other] = [
      await stageVersion(table.location, removeFirst),
      await stageVersion(table.location, removeFirst),
    ];
    assert.equal((await commit(table, one)).status, 200);
    const content = await readVersion(table.location, 2);
    assertRefused(await commit(table, other), { ...conflict, detail: /Version 2 already exists/ });
    assert.deepEqual(await readVersion(table.location, 2), content);
    assert.equal((await listStaged(table.location)).length, 1);
  });

  test('of several writers at once succeeds for exactly one of them', async () => {
    const table = await managed();
    const staged: StagedVersion[] = [];
    for (let writer = 0; writer < 4; writer += 1) staged.push(await stageVersion(table.location, removeFirst));
    const answers = await Promise.all(staged.map(async (each) => commit(table, each)));
    assert.deepEqual(answers.map(({ status }) => status).toSorted(), [200, 409, 409, 409]);
    assert.equal((await describe(table)).version, 2);
  });

  test('next to updates of the service loses nothing: each version has one author', async () => {
    const table = await managed();
    const update = async (): Promise<Answer> =>
      server.admin.post(`${table.at}/update`, { updates: [['price', 'price + 1']] });
    const staged = await stageVersion(table.location, removeFirst);
    const answers = await Promise.all([update(), commit(table, staged), update(), update()]);
    const versions = answers
      .filter(({ status }) => status === 200)
      .map(({ json }) => json.version.version ?? json.version);
    assert.equal(new Set(versions).size, versions.length);
    assert.equal((await describe(table)).version, 1 + versions.length);
  });

  test('that a size quota does not allow is refused, and changes nothing', async () => {
    const database = await server.database();
    const client = server.client({ key: ADMIN_KEY, headers: { 'x-service-database': database } });
    const query = new URLSearchParams(MANAGED.query).toString();
    const { json } = await client.arrow(`/v1/table/limited/create?${query}`, sampleStream(4));
    const table: MadeTable = { id: 'limited', at: '/v1/table/limited', location: json.location, version: 1 };
    const staged = await stageVersion(table.location, async (each) => each.add(await each.query().limit(2).toArrow()));
    await server.setQuota({ database, rows: 5 });
    assertRefused(await commit(table, staged, { client }), { ...forbidden, detail: /rows/ });
    await server.setQuota({ database, rows: 6 });
    assert.equal((await commit(table, staged, { client })).status, 200);
  });
});

suite('managed versioning', () => {
  test('is reported by describe and declare, and false unless it was asked for', async () => {
    assert.equal((await describe(await server.table())).managed_versioning, false);
    assert.equal((await describe(await managed())).managed_versioning, true);
    const id = server.name();
    const declared = await server.admin.post(`/v1/table/${id}/declare`, { properties: { managed_versioning: 'true' } });
    assert.equal(declared.json.managed_versioning, true);
    assert.equal((await server.admin.post(`/v1/table/${id}/describe`, {})).json.managed_versioning, true);
  });

  test('takes no other value than true and false', async () => {
    const body = { properties: { managed_versioning: 'yes' } };
    assertRefused(await server.admin.post(`/v1/table/${server.name()}/declare`, body), badRequest(/"true" or "false"/));
    const query = new URLSearchParams({ properties: '{"managed_versioning":"1"}' }).toString();
    const created = await server.admin.arrow(`/v1/table/${server.name()}/create?${query}`, sampleStream());
    assertRefused(created, badRequest(/"true" or "false"/));
  });

  test('is switched on and off, by managers of the table', async () => {
    const table = await server.table();
    const at = `${table.at}/managed_versioning`;
    const on = await server.admin.post(at, { enabled: true });
    assert.equal(on.status, 200, on.text);
    assert.deepEqual(on.json.properties, { managed_versioning: 'true' });
    assert.equal((await describe(table)).managed_versioning, true);
    assert.equal((await commit(table, await stageVersion(table.location, removeFirst))).status, 200);
    assert.equal((await server.admin.post(at, { enabled: false })).json.managed_versioning, false);
    assert.equal((await describe(table)).managed_versioning, false);
    assertRefused(await server.admin.post(at, {}), badRequest(/enabled/));
    assertRefused(await server.stranger().post(at, { enabled: true }), unauthenticated);
    assertRefused(await (await server.caller('writer')).post(at, { enabled: true }), forbidden);
    assertRefused(await server.admin.post('/v1/table/nowhere/managed_versioning', { enabled: true }), tableNotFound);
  });

  test('that is off refuses commits with 409, and leaves direct writers alone', async () => {
    const table = await server.table();
    const staged = await stageVersion(table.location, removeFirst);
    assertRefused(await commit(table, staged), { status: 409, code: CODE.tableState, detail: /managed_versioning/ });
    await (await server.embedded(table)).delete('id = 0');
    assert.equal((await describe(table)).version, 2);
  });
});

suite('a commit is refused', () => {
  test('without a credential, without the right to write, and for a table that does not exist', async () => {
    const table = await managed();
    const staged = await stageVersion(table.location, removeFirst);
    assertRefused(await commit(table, staged, { client: server.stranger() }), unauthenticated);
    assertRefused(await commit(table, staged, { client: await server.caller('reader') }), forbidden);
    assertRefused(await server.admin.post('/v1/table/nowhere/version/create', staged), tableNotFound);
    assert.equal((await commit(table, staged, { client: await server.caller('writer') })).status, 200);
  });

  test('with a body that is not as described', async () => {
    const table = await managed();
    const staged = await stageVersion(table.location, removeFirst);
    for (const body of [
      {},
      { version: 2 },
      { manifest_path: staged.manifest_path },
      { ...staged, version: 0 },
      { ...staged, version: '2' },
      { ...staged, naming_scheme: 'V3' },
      { ...staged, branch: '' },
      { ...staged, manifest_size: -1 },
      { ...staged, metadata: { author: 1 } },
    ]) {
      assertRefused(await commit(table, body), badRequest());
    }
    assert.equal((await commit(table, staged)).status, 200);
  });

  test('when the version, the size, the naming scheme or the branch is another than that of the manifest', async () => {
    const table = await managed();
    const staged = await stageVersion(table.location, removeFirst);
    const later = await stageManifest(table.location, 3, await readFile(`/${staged.manifest_path}`));
    assertRefused(await commit(table, later), badRequest(/has the version 2, not 3/));
    assertRefused(await commit(table, { ...staged, manifest_size: 1 }), badRequest(/manifest_size/));
    assertRefused(await commit(table, { ...staged, naming_scheme: 'V1' }), badRequest(/scheme V2, not V1/));
    await mkdir(join(table.location, 'tree', 'trial', '_versions'), { recursive: true });
    const onBranch = join(table.location, 'tree', 'trial', '_versions', basename(staged.manifest_path));
    await cp(`/${staged.manifest_path}`, onBranch);
    const moved = { ...staged, manifest_path: onBranch.slice(1), branch: 'trial' };
    assertRefused(await commit(table, moved), badRequest(/branch "main", not "trial"/));
    assert.equal((await describe(table)).version, 1);
  });

  test('when the manifest_path leads anywhere but to the staged versions of the table', async () => {
    const [table, other] = [await managed(), await managed()];
    const staged = await stageVersion(table.location, removeFirst);
    const name = basename(staged.manifest_path);
    const folder = dirname(staged.manifest_path);
    const foreign = await stageVersion(other.location, removeFirst);
    for (const manifest_path of [
      name,
      `${folder}/../_versions/${name}`,
      `${folder}//${name}`,
      `${folder}/x/${name}`,
      `${folder}/%2e%2e/${name}`,
      `${folder}/${name}/`,
      `${folder}/${name}\u0000`,
      `${folder}/..`,
      `${folder}/${name.slice(0, 29)}`,
      `${folder}/${name.slice(0, 29)}-../x`,
      'etc/passwd',
      '/etc/passwd',
      'file:///etc/passwd',
      's3://bucket/key',
      foreign.manifest_path,
    ]) {
      assertRefused(await commit(table, { ...staged, manifest_path }), badRequest(/manifest_path/));
    }
    assertRefused(await commit(table, { ...staged, branch: '../../etc' }), badRequest());
    for (const manifest_path of [`/${staged.manifest_path}`, `file:///${staged.manifest_path}`]) {
      const answer = await commit(table, { ...staged, manifest_path });
      if (manifest_path.startsWith('file')) assertRefused(answer, conflict);
      else assert.equal(answer.status, 200, answer.text);
    }
  });

  test('when the staged file, or its folder, is a link', async () => {
    const [table, other] = [await managed(), await managed()];
    const staged = await stageVersion(table.location, removeFirst);
    const path = `/${staged.manifest_path}`;
    await rename(path, join(table.location, 'aside'));
    await symlink(join(table.location, 'aside'), path);
    assertRefused(await commit(table, staged), badRequest(/no file at manifest_path/));
    const versions = join(other.location, '_versions');
    await rename(versions, join(other.location, 'moved'));
    await symlink(join(other.location, 'moved'), versions);
    const behind = await stageManifest(other.location, 2, await readFile(join(table.location, 'aside')));
    assertRefused(await commit(other, behind), badRequest(/no file at manifest_path/));
  });

  test('when there is no such file, or it is larger than the limit', async () => {
    const table = await managed();
    const staged = await stageVersion(table.location, removeFirst);
    await rm(`/${staged.manifest_path}`);
    assertRefused(await commit(table, staged), badRequest(/no file/));
    const large = await stageManifest(table.location, 2, Buffer.alloc(2 ** 20 + 1));
    assertRefused(await commit(table, large), { status: 413, code: CODE.invalidInput, detail: /manifestBytesMax/ });
  });

  test('when files of the version are missing, cut short, or links to files of others', async () => {
    const [table, other] = [await managed(), await managed()];
    const add: Change = async (each) => each.update({ values: { price: 99 } });
    for (const damage of [
      async (path: string) => rm(path),
      async (path: string) => writeFile(path, (await readFile(path)).subarray(0, 50)),
      async (path: string) => {
        await rename(path, join(other.location, 'data', 'stolen.lance'));
        await symlink(join(other.location, 'data', 'stolen.lance'), path);
      },
    ]) {
      const staged = await stageVersion(table.location, add);
      const [newest] = await newestData(table, staged);
      assert.ok(newest !== undefined);
      await damage(join(table.location, newest));
      assertRefused(await commit(table, staged), badRequest(/missing or incomplete/));
    }
    assert.equal((await describe(table)).version, 1);
  });

  test('when it is no manifest at all', async () => {
    const table = await managed();
    const content = await readVersion(table.location, 1);
    for (const bytes of [
      Buffer.alloc(0),
      Buffer.from('LANC'),
      Buffer.alloc(1000),
      content.subarray(0, content.length - 1),
      Buffer.concat([content, Buffer.from('x')]),
    ]) {
      const staged = await stageManifest(table.location, 2, bytes);
      assertRefused(await commit(table, staged), badRequest(/not a manifest/));
    }
  });

  test('when the manifest names files outside of the table, or needs features that the service does not have', async () => {
    const table = await managed();
    const staged = await stageVersion(table.location, removeFirst);
    const content = await readFile(`/${staged.manifest_path}`);
    const basePath = Buffer.concat([encodeNumber(1, 0), encodeNumber(3, 1), encodeBytes(4, Buffer.from('/etc'))]);
    const dataFile = (path: string): Buffer =>
      encodeBytes(2, Buffer.concat([encodeNumber(1, 77), encodeBytes(2, encodeBytes(1, Buffer.from(path)))]));
    for (const [extra, reason] of [
      [encodeBytes(18, basePath), /outside the table/],
      [dataFile('../../other.lance/data/x.lance'), /outside the table/],
      [dataFile('/etc/passwd'), /outside the table/],
      [dataFile('s3://bucket/x.lance'), /outside the table/],
      [dataFile(''), /outside the table/],
      [encodeNumber(9, 2 ** 40), /not a manifest|feature/],
      [encodeNumber(3, 2), /not a manifest/],
    ] as const) {
      const hostile = await stageManifest(table.location, 2, withField(content, extra));
      assertRefused(await commit(table, hostile), badRequest(reason));
    }
    assert.equal((await describe(table)).version, 1);
    assert.equal((await commit(table, staged)).status, 200);
  });

  // The fallback does not read the types of fields that no column has.
  const skip = readEngineRelease().isFallback ? 'the fallback engine opens it' : false;
  test('when the engine cannot open the table with it, and the service lives on', { skip }, async () => {
    const table = await managed();
    const staged = await stageVersion(table.location, removeFirst);
    const content = await readFile(`/${staged.manifest_path}`);
    // A field whose type no engine knows.
    const field = Buffer.concat([
      encodeBytes(2, Buffer.from('odd')),
      encodeNumber(3, 999),
      encodeBytes(5, Buffer.from('no:such:type')),
    ]);
    const hostile = await stageManifest(table.location, 2, withField(content, encodeBytes(1, field)));
    assertRefused(await commit(table, hostile), badRequest(/engine cannot open/));
    assert.equal(await countRows(table), 4);
    assert.equal((await commit(table, await renameStaged(staged, basename(staged.manifest_path)))).status, 200);
  });
});

/** Appends bytes to the message of a manifest. */
function withField(file: Buffer, extra: Buffer): Buffer {
  const start = findMessage(file.length, (at, length) => file.subarray(at, at + length)) ?? 0;
  const message = file.subarray(start + 4, start + 4 + file.readUInt32LE(start));
  assert.ok(splitFields(message).length > 0);
  const longer = Buffer.concat([message, extra]);
  const length = Buffer.alloc(4);
  length.writeUInt32LE(longer.length);
  return Buffer.concat([file.subarray(0, start), length, longer, file.subarray(file.length - 16)]);
}

/** The data files that a staged version adds. */
async function newestData(table: MadeTable, staged: StagedVersion): Promise<readonly string[]> {
  const text = (await readFile(`/${staged.manifest_path}`)).toString('latin1');
  const before = (await readVersion(table.location, 1)).toString('latin1');
  const names = [...text.matchAll(/[01]{24}[0-9a-f]{26}\.lance/g)].map(([name]) => name);
  return [...new Set(names)].filter((name) => !before.includes(name)).map((name) => `data/${name}`);
}
