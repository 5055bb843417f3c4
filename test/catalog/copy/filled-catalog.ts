import type { Catalog, NewEntry } from '../../../src/catalog/catalog.ts';
import type { TableRecord } from '../../../src/model/table.ts';
import { ENTRY, NOW, createTable, holdVersion } from '../temporary-catalog.ts';

const ADMIN = { role: 'admin', database: undefined, path: [] } as const;
const COMMITS = 1100;
const METADATA = { entries: { author: 'Zoë', empty: '' }, committedAtMicroseconds: 1_700_000_000_123_456 };

/** Rows of every kind that a catalog can have, and more of one than a page of the copy takes. */
export async function fillCatalog(catalog: Catalog): Promise<void> {
  const { databases, namespaces, tables, keys, clients, grants, signingKeys, journal } = catalog;
  const { id: databaseId } = await databases.create({ name: 'default', root: '/roots' });
  const root = 's3://bucket/sales';
  const { id: remoteId } = await databases.create({ name: 'Verkäufe ✓', root });
  const remote = await tables.reserve({ databaseId: remoteId, path: ['orders'], root, caller: 'key:k' });
  await tables.publish(remote, { ...ENTRY, properties: {} });
  for (const path of [['z'], ['z', 'a'], ['b']]) {
    await namespaces.create({ databaseId, path, properties: { owner: 'Zoë "the" \\ 🙂' } }, ENTRY);
  }
  const published = await createTable(catalog, databaseId, ['z', 'a', 'orders'], { note: "it's\n100 %" });
  const held = await createTable(catalog, databaseId, ['held']);
  await holdVersion(catalog, held.id, { version: 3, branch: 'trial' });
  await tables.reserve({ databaseId, path: ['reserved'], root: '/roots', caller: 'key:k' });
  await tables.declare({ databaseId, path: ['b', 'declared'], root: '/roots', properties: {} }, ENTRY);
  await tables.drop(await createTable(catalog, databaseId, ['dropped']), ENTRY);
  await tables.deregister(await createTable(catalog, databaseId, ['deregistered']), ENTRY);
  await tables.rename(await createTable(catalog, databaseId, ['old']), ['new'], ENTRY);

  await keys.create({ name: 'one', digest: 'a1', grants: [ADMIN] });
  await keys.create({ name: 'two', digest: 'a2', expiresAt: NOW + 5, grants: [{ ...ADMIN, database: 'default' }] });
  const { id: revoked } = await keys.create({ name: 'three', digest: 'a3', grants: [] });
  await keys.revoke(revoked);
  await clients.create({
    name: 'client',
    digest: 'b1',
    grants: [{ role: 'writer', database: 'default', path: ['z'] }],
  });
  await grants.add('token:https://id.example.com#ada', { role: 'reader', database: 'default', path: ['z', 'a'] });
  await catalog.quotas.set(`database:${databaseId}`, { rows: 10, requestsPerSecond: 5 });
  const webhook = { databaseId, url: 'https://example.com', secret: 's', createdBy: 'key:1', cursor: '', scope: {} };
  await catalog.webhooks.create(webhook, 1);
  const subject = {
    kind: 'backfill',
    databaseId,
    tableId: published.id,
    table: published.path,
    caller: 'key:k',
    spec: {},
  };
  const running = { state: 'IN_PROGRESS', phase: 'computing', isCancelRequested: false } as const;
  await catalog.jobs.save({ id: 'j1', subject, ...running, createdAt: NOW }, 10);
  await catalog.attempts.begin({ tableId: published.id, work: 'job j1' }, 1);
  await catalog.sizes.set(published.id, { rows: 3, bytes: 400 }, 1);
  await signingKeys.rotate({ id: 's1', jwk: '{"kty":"OKP"}' });
  await signingKeys.rotate({ id: 's2', jwk: '{"kty":"EC"}' });

  const entry = (id: string, changes: Partial<NewEntry>): NewEntry => ({
    id,
    caller: 'key:1',
    digest: 'digest',
    key: undefined,
    operation: 'update_table',
    databaseId,
    tableId: published.id,
    path: published.path,
    branch: undefined,
    baseVersion: 1,
    epoch: 7,
    requestId: 'r',
    generation: 'g1',
    expected: '{"kinds":["update"]}',
    holdsReaders: false,
    ...changes,
  });
  const pending = [entry('e1', {}), entry('e2', { key: 'k1', branch: 'trial' })];
  await journal.begin(pending, { bounds: [], removes: [], isDurable: true });
  const commits = Array.from({ length: COMMITS }, (_, index) => ({ ...ENTRY, version: index + 2 }));
  await journal.record(
    commits.map((commit) => ({ table: published, commit, properties: undefined, versionMetadata: METADATA })),
    true,
  );
  await fillParts(catalog, databaseId, published);
}

async function fillParts({ transactions, batches }: Catalog, databaseId: string, table: TableRecord): Promise<void> {
  const [transaction] = await transactions.list({ databaseId, limit: 1 });
  if (transaction !== undefined) await transactions.alter(transaction, ENTRY, () => ({ ticket: '17' }));
  const { operation: _, version: __, ...entry } = ENTRY;
  await batches.record({
    databaseId,
    declarations: [],
    deregistrations: [],
    commits: [],
    deletions: [{ table, branch: 'trial', versions: [1, 2], latest: 3, epoch: 0 }],
    entry,
    complete: () => ({ id: 'e3', key: 'k2', digest: 'batch', generation: undefined, outcome: '{}' }),
  });
}
