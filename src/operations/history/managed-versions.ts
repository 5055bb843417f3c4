import type { PublishedManifest } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { guardVersionMetadata } from '../../guard/metadata.ts';
import { MANAGED_PROPERTY, isManaged } from '../../model/table.ts';
import type { TableRecord } from '../../model/table.ts';
import {
  CreateVersionBody,
  CreateVersionReply,
  SetManagedVersioningBody,
  SetManagedVersioningReply,
} from '../../wire/history/versions.ts';
import { defineTableOperation, json, objectReply } from '../operation.ts';
import type { TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { toCommitEntry } from '../shared/record-commit.ts';
import { readBranch } from '../shared/table-state.ts';
import { describeWrite, replyToWrite } from '../shared/write-reply.ts';

export const createVersion = defineTableOperation({
  id: 'create_table_version',
  path: '/v1/table/:id/version/create',
  summary: 'Commit a staged manifest as the next version of a table',
  permission: 'write',
  usesPipeline: true,
  startsBranches: true,
  body: { kind: 'json', shape: CreateVersionBody },
  replies: [json(CreateVersionReply, 'The committed version.')],
  statuses: [409, 412],
  async run(request, services) {
    const write = toVersionWrite(request, services);
    const { metadata } = request.body;
    // Not stored twice in the journal: a repeated request has the same metadata.
    return replyToWrite(await services.writes.run(write), ({ fields }) => {
      return { version: Object.assign({}, fields['version'], { metadata }) };
    });
  },
});

export const setManagedVersioning = defineTableOperation({
  id: 'set_table_managed_versioning',
  path: '/v1/table/:id/managed_versioning',
  summary: 'Turn managed versioning of a table on or off',
  permission: 'manage',
  ignoresData: true,
  body: { kind: 'json', shape: SetManagedVersioningBody },
  replies: [json(SetManagedVersioningReply, 'Whether managed versioning is on.')],
  async run(request, { catalog }) {
    const { table, body } = request;
    const change = { table, commit: toCommitEntry(request), properties: { [MANAGED_PROPERTY]: String(body.enabled) } };
    const [recorded] = await catalog.journal.record([change], true);
    if (recorded === undefined) throw new ServiceError('TableNotFound', 'The table no longer exists.');
    const { transactionId, properties } = recorded;
    return objectReply<typeof SetManagedVersioningReply>({
      managed_versioning: body.enabled,
      properties,
      transaction_id: transactionId,
    });
  },
});

/** The write of one version, which runs like any other: replayed, queued, journaled, synced and recorded. */
export function toVersionWrite(
  request: Pick<TableRequest<CreateVersionBody>, 'table' | 'write' | 'body'>,
  services: Services,
) {
  const { table, body } = request;
  requireManaged(table);
  const { metadata: entries = {} } = body;
  guardVersionMetadata(entries, services.limits.metadata);
  const branch = readBranch(body);
  const plan = services.engine.commits.submitted(
    { location: table.location, branch },
    {
      version: body.version,
      manifestPath: body.manifest_path,
      manifestSize: body.manifest_size,
      namingScheme: body.naming_scheme,
    },
  );
  const hasMetadata = Object.keys(entries).length > 0;
  return {
    ...describeWrite(request, branch),
    plan,
    versionMetadata: hasMetadata
      ? () => ({ entries, committedAtMicroseconds: plan.manifest.committedAtMicroseconds })
      : undefined,
    check: async () => plan.check(),
    growth: async () => ({ rows: 0, bytes: 0, ...plan.manifest.size, replacesAll: true }),
    rule: { from: 'nothing' } as const,
    toFields: (published: PublishedManifest) => ({ version: toVersionShape(published) }),
  };
}

export function requireManaged(table: Pick<TableRecord, 'properties'>): void {
  if (isManaged(table)) return;
  throw new ServiceError('InvalidTableState', 'Managed versioning is off for this table.', {
    hint: `Commit directly to its storage, or set its property ${MANAGED_PROPERTY} to true.`,
  });
}

export function toVersionShape({ version, path, bytes, eTag }: PublishedManifest) {
  return { version, manifest_path: toStorePath(path), manifest_size: bytes, e_tag: eTag };
}

/** The path relative to the root of the object store, because clients accept no address. */
export function toStorePath(path: string): string {
  return path.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*\//, '');
}
