import { ServiceError } from '../../errors/service-error.ts';
import { guardMetadata } from '../../guard/metadata.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import type { MetadataLimits } from '../../model/limits.ts';
import { UpdateFieldMetadataBody, UpdateFieldMetadataReply } from '../../wire/columns.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, replyToWrite } from '../write-reply.ts';

export const updateFieldMetadata = defineTableOperation({
  id: 'update_field_metadata',
  methods: ['POST'],
  path: '/v1/table/:id/update_field_metadata',
  summary: 'Update the metadata of fields',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: UpdateFieldMetadataBody },
  query: DelimiterQuery,
  replies: [
    {
      mediaType: 'application/json',
      shape: UpdateFieldMetadataReply,
      description: 'The resulting metadata of each field.',
    },
  ],
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
