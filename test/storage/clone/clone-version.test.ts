import assert from 'node:assert/strict';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { Field, Int32, LargeBinary, Schema, Struct, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { cloneVersion } from '../../../src/storage/clone/clone-version.ts';
import type { CloneFolder } from '../../../src/storage/clone/clone-folder.ts';
import { createLocalCloneFolder } from '../../../src/storage/local/clone-folder.ts';
import { connectApart } from '../../engine/test-engine.ts';
import { refusal } from '../../support/refusal.ts';
import { makeFolder } from '../../support/temporary-folder.ts';

/** So large that the engine gives it a file. */
const BLOB_BYTES = 200_000;

function toRow(id: number): Buffer {
  const type = new Struct([new Field('data', new LargeBinary(), true), new Field('uri', new Utf8(), true)]);
  const blob = new Field('blob', type, true, new Map([['ARROW:extension:name', 'lance.blob.v2']]));
  const schema = new Schema([new Field('id', new Int32(), true), blob]);
  const value = { data: new Uint8Array(BLOB_BYTES).fill(id), uri: null };
  const columns = { id: vectorFromArray([id], new Int32()), blob: vectorFromArray([value], type) };
  return Buffer.from(tableToIPC(new Table(schema, columns), 'file'));
}

/** A table of two versions; the second has another file of data, with another blob. */
async function openScene(t: TestContext) {
  const root = await makeFolder(t);
  const connection = await connectApart(t, root);
  const options = { new_table_data_storage_version: '2.2' };
  const table = await connection.createTable('table', toRow(1), 'create', [], options);
  const folder = join(root, 'table.lance');
  const first = await listFiles(folder);
  await table.add(toRow(2), 'append');
  const clone = async (version: number, from: CloneFolder): Promise<void> =>
    cloneVersion(from, createLocalCloneFolder(join(root, 'clone.lance')), {
      location: { kind: 'listed', root, directory: 'table' },
      branch: undefined,
      version,
    });
  return { root, folder, first, clone };
}

async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name));
}

/** Files go after they have been listed. */
function losing(folder: string, isLost: (path: string) => boolean): CloneFolder {
  const whole = createLocalCloneFolder(folder);
  async function* list(path: string) {
    for await (const file of whole.list(path)) {
      if (isLost(file.path)) await rm(join(folder, file.path));
      yield file;
    }
  }
  return { ...whole, list };
}

suite('a clone', () => {
  test('has the blobs of its version, and succeeds although those of others are deleted', async (t) => {
    const { root, folder, first, clone } = await openScene(t);
    const isLater = (path: string): boolean => path.endsWith('.blob') && !first.includes(join(folder, path));
    await clone(1, losing(folder, isLater));
    const copied = await listFiles(join(root, 'clone.lance'));
    assert.equal(copied.filter((path) => path.endsWith('.blob')).length, 1);
    const cloned = await (await connectApart(t, root)).openTable('clone', [], {});
    assert.equal(await cloned.countRows(), 1);
  });

  test('has no files that a writer has not finished', async (t) => {
    const { root, folder, clone } = await openScene(t);
    await writeFile(join(folder, 'data/.tmpL4LGUa'), '');
    await clone(2, createLocalCloneFolder(folder));
    const names = (await listFiles(join(root, 'clone.lance'))).map((path) => basename(path));
    assert.deepEqual(
      names.filter((name) => name.startsWith('.tmp')),
      [],
    );
  });

  for (const [title, ending] of [
    ['a file of data', '.lance'],
    ['a blob', '.blob'],
  ] as const) {
    test(`is refused, and leaves nothing, when ${title} of its version is deleted meanwhile`, async (t) => {
      const { root, folder, clone } = await openScene(t);
      const copying = clone(
        2,
        losing(folder, (path) => path.endsWith(ending)),
      );
      await assert.rejects(copying, refusal('InvalidTableState', /^Files of version 2 of the source are missing/));
      assert.deepEqual(await readdir(root), ['table.lance']);
    });
  }

  test('is refused when its version is removed meanwhile', async (t) => {
    const { folder, clone } = await openScene(t);
    const from = losing(folder, () => false);
    await assert.rejects(clone(3, from), refusal('TableVersionNotFound', /^The table has no version 3\./));
  });
});
