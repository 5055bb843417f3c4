import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import type { Journal } from '../../../src/catalog/catalog.ts';
import { manifestName } from '../../../src/storage/format/manifest.ts';
import { DISK } from '../../../src/storage/sync/file-sync.ts';
import type { FileSync } from '../../../src/storage/sync/file-sync.ts';
import type { ArrowChunk, CheckedStream } from '../../../src/arrow/stream/checked-stream.ts';
import { openFixture, openLong, toStream } from '../../engine/test-engine.ts';
import { toItems } from '../../engine/sample-tables.ts';
import { eventually } from '../../support/eventually.ts';
import { refusal } from '../../support/refusal.ts';
import { countRows, openWriteFixture } from '../write-fixture.ts';
import type { WriteFixtureSettings } from '../write-fixture.ts';

/** A disk that tells what was synced, and fails as long as it is told to. */
class TestDisk implements FileSync {
  readonly synced: string[] = [];
  fault: Error | undefined;

  async sync(path: string): Promise<void> {
    if (this.fault !== undefined) throw this.fault;
    await DISK.sync(path);
    this.synced.push(path);
  }
}

/** As `open` fails when the process has no file handle left. */
function shortage(): Error {
  return Object.assign(new Error('EMFILE: too many open files, open'), { code: 'EMFILE', syscall: 'open' });
}

async function openDisk(t: TestContext, settings: WriteFixtureSettings = {}) {
  const disk = new TestDisk();
  const fixture = await openWriteFixture(t, { ...settings, disk, shortageMilliseconds: 50 });
  return { disk, fixture };
}

suite('a write whose sync fails for want of file handles', () => {
  test('is in doubt, and then recorded and replayed without being applied again', async (t) => {
    const { disk, fixture } = await openDisk(t);
    await fixture.create(toItems(3));
    disk.fault = shortage();
    const insert = async () => fixture.tryInsert(toItems(2), { key: 'k', digest: 'd' });
    assert.equal((await insert()).kind, 'in-doubt');
    disk.fault = undefined;
    await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
    assert.equal((await insert()).kind, 'replayed');
    assert.equal(await countRows(t, fixture), 5);
  });

  for (const mode of ['append', 'overwrite'] as const) {
    test(`and that is a long ${mode} is undone, and costs no later write, not even at a restart`, async (t) => {
      const { disk, fixture } = await openDisk(t);
      await fixture.create(await openFixture('multi'));
      disk.fault = shortage();
      assert.ok('error' in (await fixture.tryInsert(await openLong(), { mode, key: 'k', digest: 'd' })));
      await assert.rejects(
        fixture.insert(await openFixture('multi')),
        refusal('ServiceUnavailable', /was not applied/),
      );
      disk.fault = undefined;
      await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
      const { version } = await fixture.insert(await openFixture('multi'));
      assert.equal(await fixture.version(), version, 'what a writer is told of must be seen');
      const rows = await countRows(t, fixture);
      assert.equal(rows, 100, 'the long write is undone, the short one is there');
      const next = await openWriteFixture(t, { folder: fixture.folder });
      assert.equal(await countRows(t, next), rows);
      assert.equal(await next.version(), version);
    });
  }
});

test('a long write whose disk fails leaves the table read-only, and is undone at the next start', async (t) => {
  const { disk, fixture } = await openDisk(t);
  await fixture.create(await openFixture('multi'));
  disk.fault = new Error('EIO: i/o error, fsync');
  assert.equal((await fixture.tryInsert(await openLong())).kind, 'in-doubt');
  disk.fault = undefined;
  await assert.rejects(fixture.insert(await openFixture('multi')), refusal('ServiceUnavailable'));
  assert.equal(await fixture.version(), 1, 'readers see the version before');
  const versions = (await fixture.engine.versions.list(fixture.state())).length;
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.equal(
    (await fixture.engine.versions.list(fixture.state())).length,
    versions,
    'nothing is committed meanwhile',
  );
  const next = await openWriteFixture(t, { folder: fixture.folder });
  assert.equal(await countRows(t, next), 50);
  assert.equal((await next.insert(await openFixture('multi'))).kind, 'committed');
});

suite('what takes a commit back', () => {
  /** Which manifests were synced when the journal forgot the write. */
  function watchForgetting(disk: TestDisk) {
    const forgotten: { readonly synced: readonly string[] }[] = [];
    const watch = (journal: Journal): Journal => ({
      ...journal,
      abortHeld: async (...args) => {
        forgotten.push({ synced: [...disk.synced] });
        return journal.abortHeld(...args);
      },
      remove: async (ids) => {
        if (ids.length > 0) forgotten.push({ synced: [...disk.synced] });
        return journal.remove(ids);
      },
    });
    return {
      forgotten,
      settings: {
        watchCatalog: (catalog) => ({ ...catalog, journal: watch(catalog.journal) }),
      } satisfies WriteFixtureSettings,
    };
  }

  async function lying(stream: CheckedStream): Promise<CheckedStream> {
    async function* chunks(): AsyncGenerator<ArrowChunk> {
      for await (const chunk of stream.chunks) yield { ...chunk, rows: chunk.rows + 1 };
    }
    return { schema: stream.schema, chunks: chunks() };
  }

  for (const [name, open] of [
    ['a long write', openLong],
    ['a write of one commit', async () => openFixture('multi')],
  ] as const) {
    test(`of ${name} is durable before the journal forgets it`, async (t) => {
      const disk = new TestDisk();
      const { forgotten, settings } = watchForgetting(disk);
      const fixture = await openWriteFixture(t, { disk, ...settings });
      await fixture.create(await openFixture('multi'));
      disk.synced.length = 0;
      await assert.rejects(fixture.insert(await lying(await open())), refusal('InvalidInput'));
      await eventually(async () => forgotten.length > 0);
      const [latest] = await fixture.engine.versions.list(fixture.state()).then((versions) => versions.toReversed());
      assert.ok(latest !== undefined);
      assert.ok(
        forgotten[0]?.synced.includes(latest.manifestPath),
        'the manifest of the restored version is not synced',
      );
    });
  }
});

suite('a long write whose begin was committed, and only the reply of the catalog was lost', () => {
  test('changes nothing, holds no readers, and may be sent again with its key', async (t) => {
    let isLosing = true;
    const fixture = await openWriteFixture(t, {
      watchCatalog: (catalog) => {
        const begin: Journal['begin'] = async (...args) => {
          await catalog.journal.begin(...args);
          if (isLosing) throw new Error('the reply is lost');
        };
        return { ...catalog, journal: { ...catalog.journal, begin } };
      },
    });
    await fixture.create(await openFixture('multi'));
    const insert = async () => fixture.tryInsert(await openLong(), { key: 'k', digest: 'd' });
    assert.equal((await insert()).kind, 'refused');
    isLosing = false;
    await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
    assert.equal((await fixture.table()).heldVersion, undefined);
    assert.equal((await insert()).kind, 'committed');
    assert.equal(await countRows(t, fixture), 100);
  });
});

/** A stream that claims one row more than it has, as when a malformed batch ends the engine's reading early. */
function withMissingRow(stream: CheckedStream): CheckedStream {
  const chunks = async function* (): AsyncGenerator<ArrowChunk> {
    for await (const chunk of stream.chunks) yield { ...chunk, rows: chunk.rows + 1 };
  };
  return { ...stream, chunks: chunks() };
}

suite('a write of which the engine stored fewer rows than were sent', () => {
  for (const mode of ['append', 'overwrite'] as const) {
    test(`is refused, and an ${mode} is reverted durably`, async (t) => {
      const { disk, fixture } = await openDisk(t);
      await fixture.create(toItems(3));
      disk.synced.length = 0;
      const short = withMissingRow(await toStream(toItems(2)));
      await assert.rejects(fixture.insert(short, { mode }), refusal('InvalidInput', /malformed/));
      assert.deepEqual([await fixture.version(), await countRows(t, fixture)], [3, 3]);
      const restored = manifestName(3);
      assert.ok(
        disk.synced.some((path) => path.endsWith(restored)),
        'the restored version was not synced',
      );
      await eventually(async () => (await fixture.catalog.journal.pending()).length === 0);
    });
  }
});
