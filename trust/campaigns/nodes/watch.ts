import { setTimeout as sleep } from 'node:timers/promises';
import { readRows } from '../../rows.ts';
import type { WriterContext } from './exchange.ts';
import { countersTable } from './row-writers.ts';
import type { Counter } from './row-writers.ts';

const PAUSE_MILLISECONDS = 20;

/**
 * Reads all counters on one node after another: none may be below what was acknowledged before the read began, or below
 * what an earlier read saw.
 */
export async function watchCounters(
  context: WriterContext,
  counters: readonly Counter[],
  state: { readonly isOver: boolean },
): Promise<number> {
  const { nodes, round, tally } = context;
  const seen = counters.map(() => 0);
  let reads = 0;
  let lastNode = 0;
  while (!state.isOver) {
    const acknowledged = counters.map(({ known }) => known.least);
    const node = nodes.pickOther(lastNode);
    const rows = await readRows(nodes.at(node), countersTable(round)).catch(() => undefined);
    await sleep(PAUSE_MILLISECONDS);
    if (rows === undefined) continue;
    reads += 1;
    for (const { row } of counters) {
      const hits = Number(rows.find(({ id }) => id === row)?.['hits'] ?? -1);
      const [before = 0, least = 0] = [seen[row], acknowledged[row]];
      const kind = hits < before ? 'backward' : hits < least ? 'stale' : undefined;
      seen[row] = Math.max(before, hits);
      if (kind === undefined) continue;
      tally[kind] += 1;
      const shown = `counter ${row}: ${hits} at node ${node}, after ${before} at node ${lastNode}`;
      tally.blame(kind, `${shown} and ${least} acknowledged before`);
    }
    lastNode = node;
  }
  return reads;
}
