import type { NewColumn } from '../../engine/engine.ts';
import { ServiceError } from '../../errors/service-error.ts';
import { guardSql } from '../../guard/sql.ts';
import type { SqlLimits } from '../../model/limits.ts';
import { AddColumnsBody, ColumnsReply } from '../../wire/columns.ts';
import { readDataType } from '../../wire/data-type-json.ts';
import { DelimiterQuery } from '../../wire/tables.ts';
import { defineTableOperation } from '../operation.ts';
import type { Reply, TableRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { describeWrite, runPlainWrite } from '../write-reply.ts';
import { notOffered, requireEntries } from './change-columns.ts';

export const addColumns = defineTableOperation({
  id: 'alter_table_add_columns',
  methods: ['POST'],
  path: '/v1/table/:id/add_columns',
  summary: 'Add columns, calculated by SQL from each row, or null',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: AddColumnsBody },
  query: DelimiterQuery,
  replies: [{ mediaType: 'application/json', shape: ColumnsReply, description: 'The version with the columns.' }],
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
