import type { ColumnAlteration, NewColumn, NewComputedColumn, VectorConversion } from '../../engine/engine.ts';
import { ServiceError, invalidInput } from '../../errors/service-error.ts';
import { guardSql } from '../../guard/sql/guard-sql.ts';
import { parseFieldPath } from '../../model/field-path.ts';
import { quoteForMessage } from '../../model/identifier.ts';
import type { SqlLimits } from '../../model/limits.ts';
import type { Schema } from '../../model/schema.ts';
import { AddColumnsBody, AlterColumnsBody, ColumnsReply, DropColumnsBody } from '../../wire/columns.ts';
import { readDataType } from '../../wire/schema/read-data-type.ts';
import { toTypeJson } from '../../wire/schema/schema-json.ts';
import { BranchQuery } from '../../wire/shapes.ts';
import { defineTableOperation, json } from '../operation.ts';
import { requireEntries } from '../shared/parameters.ts';
import { SOME_BYTES, describeWrite, replyToWrite, runWrite } from '../shared/write-reply.ts';

export const addColumns = defineTableOperation({
  id: 'alter_table_add_columns',
  path: '/v1/table/:id/add_columns',
  summary: 'Add columns: by SQL expression, computed, or null',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: AddColumnsBody, ofSchema: toColumnsOfNulls },
  query: BranchQuery,
  replies: [json(ColumnsReply, 'The version with the columns.')],
  async run(request, services) {
    const { new_columns: entries, function: computation } = request.body;
    const branch = request.body.branch ?? request.query['branch'];
    const { limits } = services;
    requireEntries('new_columns', entries.length, { maximum: limits.sql.updatesMax });
    if (isGiven(computation)) throw needsCode('A function that computes a column');
    const { commits } = services.engine;
    const { columnsMax } = limits.arrow;
    if (entries.some(({ computed }) => isGiven(computed))) {
      const columns = entries.map((entry, index) => toComputedColumn(entry, `new_columns[${index}]`, limits.sql));
      return runWrite(request, services, { branch, plan: commits.addComputedColumns(columns, columnsMax) });
    }
    const columns = entries.map((entry, index) => toNewColumn(entry, `new_columns[${index}]`, limits.sql));
    return runWrite(request, services, { branch, plan: commits.addColumns(columns, columnsMax), growth: SOME_BYTES });
  },
});

export const alterColumns = defineTableOperation({
  id: 'alter_table_alter_columns',
  path: '/v1/table/:id/alter_columns',
  summary: 'Change columns: name, type or nullability',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: AlterColumnsBody },
  replies: [json(ColumnsReply, 'The version with the changes.')],
  async run(request, services) {
    const { branch, alterations: entries } = request.body;
    requireEntries('alterations', entries.length, { maximum: services.limits.sql.updatesMax });
    const alterations = entries.map((entry, index) => toAlteration(entry, `alterations[${index}]`));
    const { commits } = services.engine;
    const target = { location: request.table.location, branch };
    for (const [index, alteration] of alterations.entries()) {
      const conversion = toConversion(alteration, entries[index]?.data_type);
      if (conversion === undefined || !(await commits.holdsLists(target, conversion.column))) continue;
      if (alterations.length > 1 || alteration.rename !== undefined || alteration.nullable !== undefined) {
        throw invalidInput(
          `Converting the lists of ${quoteForMessage(conversion.column)} to vectors cannot be combined with other changes.`,
          'Send the other changes in a separate request.',
        );
      }
      const write = { ...describeWrite(request, branch), growth: SOME_BYTES, toFields: () => ({}) };
      const several = { ...write, plan: commits.vectorsFromLists(target, conversion) };
      return replyToWrite(await services.writes.runSeveral(several));
    }
    const plan = commits.alterColumns(alterations);
    // Only a change of type rewrites the column.
    const isRewritten = alterations.some(({ typeJson }) => typeJson !== undefined);
    return runWrite(request, services, { branch, plan, growth: isRewritten ? SOME_BYTES : undefined });
  },
});

export const dropColumns = defineTableOperation({
  id: 'alter_table_drop_columns',
  path: '/v1/table/:id/drop_columns',
  summary: 'Drop columns and their indexes',
  permission: 'write',
  usesPipeline: true,
  body: { kind: 'json', shape: DropColumnsBody },
  replies: [json(ColumnsReply, 'The version without the columns.')],
  async run(request, services) {
    const { branch, columns } = request.body;
    requireEntries('columns', columns.length, { maximum: services.limits.sql.updatesMax });
    const plan = services.engine.commits.dropColumns(columns.map(parseFieldPath));
    return runWrite(request, services, { branch, plan });
  },
});

/** LanceDB clients send columns without values as the schema of an Arrow stream, and the branch in the address. */
function toColumnsOfNulls({ fields }: Schema): Record<string, unknown> {
  const entries = fields.map(({ name, type, nullable, metadata }) => {
    const field = `The column ${quoteForMessage(name)}`;
    if (!nullable) throw invalidInput(`${field} is not nullable, but has no values.`, 'Make the field nullable.');
    if (metadata.size > 0) {
      throw invalidInput(
        `${field} has metadata.`,
        'Add it without metadata, then set the metadata with update_field_metadata.',
      );
    }
    return { name, data_type: toTypeJson(type, 'lancedb') };
  });
  return { new_columns: entries };
}

type Entry = AddColumnsBody['new_columns'][number];

function toNewColumn(entry: Entry, field: string, limits: SqlLimits): NewColumn {
  const { name, expression, data_type: type } = entry;
  if (isGiven(entry.virtual_column)) throw needsCode(`${field}.virtual_column`);
  if (isGiven(expression) === isGiven(type)) {
    if (isGiven(entry.all_null) && !isGiven(type)) throw notOffered(`${field}.all_null without a data_type`);
    const hint =
      'Send an entry such as {"name": "total", "expression": "price * 2"} or {"name": "note", "data_type": "string"}.';
    throw invalidInput(`${field} needs either an expression or a data_type.`, hint);
  }
  if (typeof expression !== 'string') return { kind: 'null', name, type: readDataType(type, `${field}.data_type`) };
  const guarded = guardSql(expression, { name: 'expression', field: `${field}.expression` }, limits);
  return { kind: 'calculated', name, expression: guarded };
}

/** One commit adds either computed columns or others. */
function toComputedColumn(entry: Entry, field: string, limits: SqlLimits): NewComputedColumn {
  const { name, computed: text } = entry;
  if (isGiven(entry.virtual_column)) throw needsCode(`${field}.virtual_column`);
  if (typeof text !== 'string') {
    const hint = 'Use two requests: one for the computed columns, one for the others.';
    throw invalidInput(`${field} has no "computed" expression, but other entries have one.`, hint);
  }
  if ([entry.expression, entry.data_type, entry.all_null].some(isGiven)) {
    const hint = 'The expression determines the type of a computed column, and backfill_column fills its rows.';
    throw invalidInput(`${field} has "computed" together with expression, data_type or all_null.`, hint);
  }
  return { name, text, expression: guardSql(text, { name: 'expression', field: `${field}.computed` }, limits) };
}

/** Clients send null or false for a field that they do not use. */
function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null && value !== false;
}

function toAlteration(entry: AlterColumnsBody['alterations'][number], field: string): ColumnAlteration {
  const { rename, nullable, data_type: type = null, virtual_column: virtual = null } = entry;
  if (virtual !== null) throw needsCode(`${field}.virtual_column`);
  const path = parseFieldPath(entry.path);
  const wanted = type === null ? undefined : readDataType(type, `${field}.data_type`);
  if ((rename ?? nullable ?? wanted) === undefined) {
    throw invalidInput(`${field} has no change.`, 'Give rename, nullable or data_type.');
  }
  return {
    path,
    rename: rename ?? undefined,
    nullable: nullable ?? undefined,
    type: wanted,
    // The engine parses Lance's own JSON form, like the LanceDB client.
    typeJson: wanted && JSON.stringify(toTypeJson(wanted, 'lancedb')),
  };
}

/** The engine cannot convert lists to vectors by itself. */
function toConversion({ path }: ColumnAlteration, type: unknown): VectorConversion | undefined {
  const [column, ...nested] = path;
  if (type === undefined || type === null || nested.length > 0) return undefined;
  const wanted = readDataType(type, 'data_type');
  return wanted.kind === 'fixed-size-list' ? { column, type: wanted } : undefined;
}

function needsCode(field: string): ServiceError {
  return new ServiceError('Unsupported', `${field} is not offered: it would run code of the caller.`, {
    hint: 'A column can be computed by an SQL expression: {"name": "total", "computed": "price * quantity"}.',
  });
}

function notOffered(field: string): ServiceError {
  return new ServiceError('Unsupported', `${field} is not offered.`);
}
