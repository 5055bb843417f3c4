import { updateFieldMetadata } from './columns/update-field-metadata.ts';
import { analyzePlan } from './data/analyze-plan.ts';
import { updateTable } from './data/update-table.ts';
import type { Operation } from './operation.ts';
import { createNamedTable, createTable } from './tables/create-table.ts';
import { describeTable } from './tables/describe-table.ts';
import { listTables } from './tables/list-tables.ts';

/** Every operation that the service offers. Routes, OpenAPI, the permission table and the docs come from this list. */
export const OPERATIONS: readonly Operation[] = [
  createTable,
  createNamedTable,
  describeTable,
  listTables,
  analyzePlan,
  updateTable,
  updateFieldMetadata,
];
