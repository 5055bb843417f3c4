import { ServiceError } from '../../errors/service-error.ts';
import type { NewColumn, ColumnAlteration } from '../../engine/engine.ts';
import { guardSql } from '../../guard/sql/guard-sql.ts';
import type { SqlLimits } from '../../model/limits.ts';
import { AddColumnsBody, ColumnsReply, AlterColumnsBody, DropColumnsBody } from '../../wire/columns.ts';
import { readDataType } from '../../wire/schema/read-data-type.ts';
import { defineTableOperation, json } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, runPlainWrite } from '../shared/write-reply.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import { toTypeJson } from '../../wire/schema/schema-json.ts';

export function requireEntries(name: string, count: number, maximum: number): void {
  if (count === 0) throw new ServiceError('InvalidInput', `${name} is empty.`, { hint: 'Give at least one entry.' });
  if (count > maximum) {
    throw new ServiceError('InvalidInput', `${name} has ${count} entries; at most ${maximum} are allowed.`);
  }
}

export function notOffered(field: string): ServiceError {
  return new ServiceError('Unsupported', `${field} is not offered.`);
}

export const addColumns = defineTableOperation({
  id: 'alter_table_add_columns',
  path: '/v1/table/:id/add_columns',
  summary: 'Add columns, calculated by SQL from each row, or null',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: AddColumnsBody },
  replies: [json(ColumnsReply, 'The version with the columns.')],
  statuses: [406, 412],
  run: add,
});

async function add(request: TableRequest<AddColumnsBody>, services: Services): Promise<Reply> {
  const { body } = request;
  const { limits } = services;
  requireEntries('new_columns', body.new_columns.length, limits.sql.updatesMax);
  if (body.function !== undefined) throw notOffered('A function behind a column');
  const columns = body.new_columns.map((entry, index) => toNewColumn(entry, `new_columns[${index}]`, limits.sql));
  const plan = services.engine.commits.addColumns(columns, limits.arrow.columnsMax);
  return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
}

type Entry = AddColumnsBody['new_columns'][number];

/** A field that is null is a field that was not given. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function toNewColumn(entry: Entry, field: string, limits: SqlLimits): NewColumn {
  const { name, expression, data_type: type } = entry;
  if (isGiven(entry.computed)) throw notOffered(`${field}.computed`);
  if (isGiven(entry.virtual_column)) throw notOffered(`${field}.virtual_column`);
  if (isGiven(expression) === isGiven(type)) {
    if (isGiven(entry.all_null) && !isGiven(type)) throw notOffered(`${field}.all_null without a data_type`);
    throw new ServiceError('InvalidInput', `${field} needs either an expression or a data_type.`, {
      hint: 'An entry is {"name": "total", "expression": "price * 2"} or {"name": "note", "data_type": "string"}.',
    });
  }
  if (typeof expression !== 'string') return { kind: 'null', name, type: readDataType(type, `${field}.data_type`) };
  const guarded = guardSql(expression, { name: 'expression', field: `${field}.expression` }, limits);
  return { kind: 'calculated', name, expression: guarded };
}

export const alterColumns = defineTableOperation({
  id: 'alter_table_alter_columns',
  path: '/v1/table/:id/alter_columns',
  summary: 'Rename columns, change their types, or whether they may be null',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: AlterColumnsBody },
  replies: [json(ColumnsReply, 'The version with the changes.')],
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

export const dropColumns = defineTableOperation({
  id: 'alter_table_drop_columns',
  path: '/v1/table/:id/drop_columns',
  summary: 'Drop columns, with their indexes',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: DropColumnsBody },
  replies: [json(ColumnsReply, 'The version without the columns.')],
  statuses: [412],
  run: drop,
});

async function drop(request: TableRequest<DropColumnsBody>, services: Services): Promise<Reply> {
  const { body } = request;
  requireEntries('columns', body.columns.length, services.limits.sql.updatesMax);
  const paths = body.columns.map(parseFieldPath);
  const plan = services.engine.commits.dropColumns(paths);
  return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
}
