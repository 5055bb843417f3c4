import { guardMetadata } from '../../guard/metadata.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import type { MetadataLimits } from '../../model/limits.ts';
import { SchemaMetadataBody, UpdateFieldMetadataBody, UpdateFieldMetadataReply } from '../../wire/columns.ts';
import { BranchQuery, StringMap } from '../../wire/shapes.ts';
import { defineTableOperation, json } from '../operation.ts';
import { requireEntries } from '../shared/parameters.ts';
import { describeWrite, requireSuccess, runWrite, toFrame } from '../shared/write-reply.ts';

export const updateFieldMetadata = defineTableOperation({
  id: 'update_field_metadata',
  path: '/v1/table/:id/update_field_metadata',
  summary: 'Update field metadata',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: UpdateFieldMetadataBody },
  replies: [json(UpdateFieldMetadataReply, 'The resulting metadata of each field.')],
  async run(request, services) {
    const entries = readEntries(request.body, services.limits.metadata);
    return runWrite(request, services, {
      branch: request.body.branch,
      plan: services.engine.commits.fieldMetadata(entries),
      toFields: ({ fields }) => ({ fields: Object.fromEntries(fields) }),
    });
  },
});

export const updateSchemaMetadata = defineTableOperation({
  id: 'update_table_schema_metadata',
  path: '/v1/table/:id/schema_metadata/update',
  summary: 'Replace schema metadata',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: SchemaMetadataBody, normalize: toMetadataField },
  query: BranchQuery,
  replies: [json(StringMap, 'The resulting metadata.')],
  async run(request, services) {
    const { query, body, table } = request;
    guardMetadata(body.metadata, 'metadata', services.limits.metadata);
    const branch = query['branch'] ?? body.branch;
    const success = requireSuccess(
      await services.writes.run({
        ...describeWrite(request, branch),
        plan: services.engine.commits.schemaMetadata({ location: table.location, branch }, body.metadata),
        rule: { from: 'nothing' },
        toFields: ({ metadata }) => ({ metadata }),
      }),
    );
    return { kind: 'value', value: success.fields['metadata'] ?? body.metadata, ...toFrame(success) };
  },
});

function readEntries({ updates }: UpdateFieldMetadataBody, limits: MetadataLimits) {
  const hint = 'Give at least one entry, such as {"path": "price", "metadata": {"unit": "EUR"}}.';
  requireEntries('updates', updates.length, { maximum: limits.entriesMax, hint });
  return updates.map(({ path, metadata, replace = false }, index) => {
    guardMetadata(metadata, `updates[${index}].metadata`, limits);
    return { path: parseFieldPath(path), metadata, replace };
  });
}

/** The whole body is the metadata, unless its `metadata` is an object, which no metadata value can be. */
function toMetadataField(body: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return typeof body['metadata'] === 'object' ? body : { metadata: body };
}
