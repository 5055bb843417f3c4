import { guardMetadata } from '../../guard/metadata.ts';
import { StringMap } from '../../wire/shapes.ts';
import { BranchQuery, SchemaMetadataBody } from '../../wire/versions.ts';
import { toBranchEntry } from '../branch-entry.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import { recordCommit } from '../record-commit.ts';
import type { Services } from '../services.ts';

export const updateSchemaMetadata = defineTableOperation({
  id: 'update_table_schema_metadata',
  methods: ['POST'],
  path: '/v1/table/:id/schema_metadata/update',
  summary: 'Replace the metadata of the schema',
  permission: 'write',
  body: { kind: 'json', shape: SchemaMetadataBody, normalize: wrap },
  query: BranchQuery,
  replies: [{ mediaType: 'application/json', shape: StringMap, description: 'The resulting metadata.' }],
  statuses: [406],
  run: replace,
});

async function replace(request: TableRequest<SchemaMetadataBody>, services: Services): Promise<Reply> {
  const { table, caller, requestId, query, body } = request;
  const { metadata } = body;
  guardMetadata(metadata, 'metadata', services.limits.metadata);
  const branch = query['branch'] ?? body.branch;
  const target = { place: table.place, branch };
  const outcome = await services.engine.versions.replaceSchemaMetadata(target, metadata);
  await recordCommit(services, table, {
    operation: 'update_table_schema_metadata',
    caller: caller.id,
    requestId,
    version: outcome.version,
    ...toBranchEntry(branch),
  });
  return { kind: 'value', value: outcome.metadata };
}

/** The pairs are the whole body, unless `metadata` is an object: no pair has a value like that. */
function wrap(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return typeof body['metadata'] === 'object' ? body : { metadata: body };
}
