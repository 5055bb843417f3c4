import { guardMetadata } from '../../guard/metadata.ts';
import { StringMap } from '../../wire/shapes.ts';
import { BranchQuery, SchemaMetadataBody } from '../../wire/versions.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, requireSuccess, toFrame } from '../write-reply.ts';

export const updateSchemaMetadata = defineTableOperation({
  id: 'update_table_schema_metadata',
  methods: ['POST'],
  path: '/v1/table/:id/schema_metadata/update',
  summary: 'Replace the metadata of the schema',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: SchemaMetadataBody, normalize: wrap },
  query: BranchQuery,
  replies: [{ mediaType: 'application/json', shape: StringMap, description: 'The resulting metadata.' }],
  statuses: [406, 412],
  run: replaceMetadata,
});

async function replaceMetadata(request: TableRequest<SchemaMetadataBody>, services: Services): Promise<Reply> {
  const { query, body } = request;
  guardMetadata(body.metadata, 'metadata', services.limits.metadata);
  const success = requireSuccess(
    await services.writes.run({
      ...describeWrite(request, query['branch'] ?? body.branch),
      plan: services.engine.commits.schemaMetadata(body.metadata),
      rule: { from: 'nothing' },
      toFields: ({ metadata }) => ({ metadata }),
    }),
  );
  return { kind: 'value', value: success.fields['metadata'] ?? body.metadata, ...toFrame(success) };
}

/** The pairs are the whole body, unless `metadata` is an object: no pair has a value like that. */
function wrap(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return typeof body['metadata'] === 'object' ? body : { metadata: body };
}
