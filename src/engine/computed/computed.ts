import { findFixedWidth, offsetBytes } from '../../arrow/format/column-layout.ts';
import { requireField } from '../../model/field-path.ts';
import type { DataType } from '../../model/schema.ts';
import { engineCall } from '../native/engine-errors.ts';
import type { EngineParts } from '../parts.ts';
import type { WriteTarget } from '../tables/table-handle.ts';
import { planOpenRows } from './fill.ts';
import type { FillRequest } from './fill.ts';

type OpenRows = Pick<FillRequest, 'column' | 'where'>;

/** Reads facts about computed columns; `commits/` writes them. */
export function createComputedEngine(parts: EngineParts) {
  const { tables } = parts;
  return {
    /** Refuses a backfill that is not possible. */
    async check(target: WriteTarget, rows: OpenRows): Promise<void> {
      await tables.use(target, async (table) => planOpenRows(parts, table, rows));
    },
    /** How many rows a backfill must fill in the latest version, and the minimum number of bytes that this adds. */
    async countOpen(target: WriteTarget, rows: OpenRows) {
      return tables.use(target, async (table) => {
        const predicate = await planOpenRows(parts, table, rows);
        const open = await engineCall(async () => table.native.countRows(predicate));
        const { type } = requireField(await table.schema(), [rows.column]);
        return { rows: open, bytes: Math.ceil(open * leastBytes(type)), version: await table.version() };
      });
    },
  };
}

/** The minimum size of one value. The length of texts and lists is not known before they are computed. */
function leastBytes(type: DataType): number {
  switch (type.kind) {
    case 'bool':
      return 1 / 8;
    case 'utf8':
    case 'binary':
    case 'list':
      return offsetBytes(type);
    case 'fixed-size-list':
      return type.length * leastBytes(type.item.type);
    case 'struct':
      return type.children.reduce((bytes, child) => bytes + leastBytes(child.type), 0);
    default:
      return findFixedWidth(type) ?? 0;
  }
}
