import type { ColumnAlteration } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import { AlterColumnsBody, ColumnsReply } from '../../wire/columns.ts';
import { readDataType } from '../../wire/data-type-json.ts';
import { toTypeJson } from '../../wire/schema-json.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, runPlainWrite } from '../write-reply.ts';
import { notOffered, requireEntries } from './change-columns.ts';

export const alterColumns = defineTableOperation({
  id: 'alter_table_alter_columns',
  methods: ['POST'],
  path: '/v1/table/:id/alter_columns',
  summary: 'Rename columns, change their types, or whether they may be null',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: AlterColumnsBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: ColumnsReply, description: 'The version with the changes.' }],
  statuses: [406, 412],
  run: alter,
});

async function alter(request: TableRequest<AlterColumnsBody>, services: Services): Promise<Reply> {
  const { body } = request;
  requireEntries('alterations', body.alterations.length, services.limits.sql.updatesMax);
  const alterations = body.alterations.map((entry, index) => toAlteration(entry, `alterations[${index}]`));
  const plan = services.engine.commits.alterColumns(alterations);
  return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
}

function toAlteration(entry: AlterColumnsBody['alterations'][number], field: string): ColumnAlteration {
  const type = entry.data_type ?? undefined;
  if ((entry.virtual_column ?? undefined) !== undefined) throw notOffered(`${field}.virtual_column`);
  const alteration = {
    path: parseFieldPath(entry.path),
    rename: entry.rename ?? undefined,
    nullable: entry.nullable ?? undefined,
    // Lance's own JSON form is the one that the LanceDB client reads, too.
    typeJson:
      type === undefined ? undefined : JSON.stringify(toTypeJson(readDataType(type, `${field}.data_type`), 'lancedb')),
  };
  const { rename, nullable, typeJson } = alteration;
  if (rename === undefined && nullable === undefined && typeJson === undefined) {
    throw new ServiceError('InvalidInput', `${field} says nothing to change.`, {
      hint: 'Give rename, nullable or data_type.',
    });
  }
  return alteration;
}
