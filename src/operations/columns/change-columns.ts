import type { ColumnAlteration, NewColumn } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { guardSql } from '../../guard/sql/guard-sql.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import type { SqlLimits } from '../../model/limits.ts';
import { AddColumnsBody, AlterColumnsBody, ColumnsReply, DropColumnsBody } from '../../wire/columns.ts';
import { readDataType } from '../../wire/schema/read-data-type.ts';
import { toTypeJson } from '../../wire/schema/schema-json.ts';
import { defineTableOperation, json } from '../operation.ts';
import { describeWrite, runPlainWrite } from '../shared/write-reply.ts';

export const addColumns = defineTableOperation({
  id: 'alter_table_add_columns',
  path: '/v1/table/:id/add_columns',
  summary: 'Add columns, calculated by SQL from each row, or null',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: AddColumnsBody },
  replies: [json(ColumnsReply, 'The version with the columns.')],
  statuses: [406, 412],
  async run(request, services) {
    const { body } = request;
    const { limits } = services;
    requireEntries('new_columns', body.new_columns.length, limits.sql.updatesMax);
    if (body.function !== undefined) throw notOffered('A function behind a column');
    const columns = body.new_columns.map((entry, index) => toNewColumn(entry, `new_columns[${index}]`, limits.sql));
    const plan = services.engine.commits.addColumns(columns, limits.arrow.columnsMax);
    return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
  },
});

export const alterColumns = defineTableOperation({
  id: 'alter_table_alter_columns',
  path: '/v1/table/:id/alter_columns',
  summary: 'Rename columns, change their types, or whether they may be null',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: AlterColumnsBody },
  replies: [json(ColumnsReply, 'The version with the changes.')],
  statuses: [406, 412],
  async run(request, services) {
    const { body } = request;
    requireEntries('alterations', body.alterations.length, services.limits.sql.updatesMax);
    const alterations = body.alterations.map((entry, index) => toAlteration(entry, `alterations[${index}]`));
    const plan = services.engine.commits.alterColumns(alterations);
    return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
  },
});

export const dropColumns = defineTableOperation({
  id: 'alter_table_drop_columns',
  path: '/v1/table/:id/drop_columns',
  summary: 'Drop columns, with their indexes',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: DropColumnsBody },
  replies: [json(ColumnsReply, 'The version without the columns.')],
  statuses: [412],
  async run(request, services) {
    const { body } = request;
    requireEntries('columns', body.columns.length, services.limits.sql.updatesMax);
    const plan = services.engine.commits.dropColumns(body.columns.map(parseFieldPath));
    return runPlainWrite(services, { ...describeWrite(request, body.branch), plan });
  },
});

function toNewColumn(entry: AddColumnsBody['new_columns'][number], field: string, limits: SqlLimits): NewColumn {
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

/** Clients write null or false for a field that they do not use. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function toAlteration(entry: AlterColumnsBody['alterations'][number], field: string): ColumnAlteration {
  const type = entry.data_type ?? undefined;
  if ((entry.virtual_column ?? undefined) !== undefined) throw notOffered(`${field}.virtual_column`);
  const alteration = {
    path: parseFieldPath(entry.path),
    rename: entry.rename ?? undefined,
    nullable: entry.nullable ?? undefined,
    // The engine reads Lance's own JSON form, as the LanceDB client does.
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

function requireEntries(name: string, count: number, maximum: number): void {
  if (count === 0) throw new ServiceError('InvalidInput', `${name} is empty.`, { hint: 'Give at least one entry.' });
  if (count > maximum) {
    throw new ServiceError('InvalidInput', `${name} has ${count} entries; at most ${maximum} are allowed.`);
  }
}

function notOffered(field: string): ServiceError {
  return new ServiceError('Unsupported', `${field} is not offered.`);
}
