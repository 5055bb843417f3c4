import { useEffect, useState } from 'preact/hooks';
import type { ApiClient } from '../../../src/client/api-client.ts';
import { describeTable, tableStats } from '../../../src/client/tables.ts';
import { VIEW_PROPERTY } from '../../../src/model/derived/view.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import { wordsOf } from '../parts/error-box.tsx';

export interface TableFacts {
  readonly version?: number | undefined;
  readonly rows?: number;
  readonly bytes?: number;
  readonly fragments?: number;
  readonly indexes?: number;
  readonly isDeclared?: boolean;
  readonly isView?: boolean;
  readonly fault?: string;
}

const AT_ONCE = 4;

/** Fills in the facts of one page of tables as they arrive. */
export function useTableFacts(client: ApiClient, tables: readonly TablePath[]): ReadonlyMap<string, TableFacts> {
  const [facts, setFacts] = useState<ReadonlyMap<string, TableFacts>>(new Map());
  useEffect(() => {
    const unmounted = new AbortController();
    const found = new Map<string, TableFacts>();
    const work = async (table: TablePath): Promise<void> => {
      found.set(table.join('/'), await readFacts(client, table));
      if (!unmounted.signal.aborted) setFacts(new Map(found));
    };
    void forEachConcurrent(tables, { width: AT_ONCE, signal: unmounted.signal }, work);
    return () => unmounted.abort();
  }, [client, tables.map((table) => table.join('/')).join('\n')]);
  return facts;
}

async function readFacts(client: ApiClient, table: TablePath): Promise<TableFacts> {
  try {
    const described = await describeTable(client, table, { check_declared: true });
    if (described.is_only_declared) return { isDeclared: true };
    const stats = await tableStats(client, table);
    return {
      version: described.version,
      isView: described.properties?.[VIEW_PROPERTY] !== undefined,
      rows: stats.num_rows,
      bytes: stats.total_bytes,
      fragments: stats.fragment_stats.num_fragments,
      indexes: stats.num_indices,
    };
  } catch (error) {
    return { fault: wordsOf(error).message };
  }
}

/** Runs with a concurrency limit, until aborted. */
async function forEachConcurrent<Item>(
  items: readonly Item[],
  { width, signal }: { readonly width: number; readonly signal: AbortSignal },
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const waiting = [...items];
  const worker = async (): Promise<void> => {
    for (let item = waiting.shift(); item !== undefined && !signal.aborted; item = waiting.shift()) await work(item);
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, worker));
}
