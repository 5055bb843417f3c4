import { ServiceError } from '../../errors/service-error.ts';
import { guardMetadata } from '../../guard/metadata.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import type { MetadataLimits } from '../../model/limits.ts';
import { SchemaMetadataBody, UpdateFieldMetadataBody, UpdateFieldMetadataReply } from '../../wire/columns.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, replyToWrite, requireSuccess, toFrame } from '../shared/write-reply.ts';
import { BranchQuery, StringMap } from '../../wire/shapes.ts';

export const updateFieldMetadata = defineTableOperation({
  id: 'update_field_metadata',
  path: '/v1/table/:id/update_field_metadata',
  summary: 'Update the metadata of fields',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: UpdateFieldMetadataBody },
  replies: [json(UpdateFieldMetadataReply, 'The resulting metadata of each field.')],
  statuses: [412],
  run: updateMetadata,
});

async function updateMetadata(request: TableRequest<UpdateFieldMetadataBody>, services: Services): Promise<Reply> {
  const { body } = request;
  const entries = readEntries(body, services.limits.metadata);
  const result = await services.writes.run({
    ...describeWrite(request, body.branch),
    plan: services.engine.commits.fieldMetadata(entries),
    rule: { from: 'nothing' },
    toFields: ({ fields }) => ({ fields: Object.fromEntries(fields) }),
  });
  return replyToWrite(result);
}

function readEntries(body: UpdateFieldMetadataBody, limits: MetadataLimits) {
  const { updates } = body;
  if (updates.length === 0) {
    throw new ServiceError('InvalidInput', 'updates is empty.', {
      hint: 'Give at least one entry, such as {"path": "price", "metadata": {"unit": "EUR"}}.',
    });
  }
  if (updates.length > limits.entriesMax) {
    throw new ServiceError(
      'InvalidInput',
      `updates has ${updates.length} entries; at most ${limits.entriesMax} are allowed.`,
    );
  }
  return updates.map(({ path, metadata, replace }, index) => {
    guardMetadata(metadata, `updates[${index}].metadata`, limits);
    return { path: parseFieldPath(path), metadata, replace: replace ?? false };
  });
}

export const updateSchemaMetadata = defineTableOperation({
  id: 'update_table_schema_metadata',
  path: '/v1/table/:id/schema_metadata/update',
  summary: 'Replace the metadata of the schema',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: SchemaMetadataBody, normalize: wrap },
  query: BranchQuery,
  replies: [json(StringMap, 'The resulting metadata.')],
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
