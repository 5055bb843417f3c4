import { setTimeout as sleep } from 'node:timers/promises';
import type { Trust } from '../../campaign.ts';
import { inParallel } from '../../parallel.ts';
import { listTables } from '../kill-writers.ts';
import type { AnyNode } from './any-node.ts';
import type { NodesTally, Writer, WriterContext } from './exchange.ts';
import type { FaultLanes } from './fault-lanes.ts';
import { makeCounters, makeRowWriters } from './row-writers.ts';
import { makeTableWriters } from './table-writers.ts';
import { watchCounters } from './watch.ts';

const FAULTS_PER_ROUND = 24;
/** Longest wait for the number of writes that belong to a fault. */
const WRITES_WAIT_MILLISECONDS = 5000;

export interface UnderFaults {
  readonly trust: Trust;
  readonly nodes: AnyNode;
  readonly lanes: FaultLanes;
  readonly tally: NodesTally;
  readonly wanted: { readonly faults: number; readonly writes: number };
  readonly endAt: number;
}

/** Writers of all kinds through any node, while nodes and store fail; then compares everything with the replies. */
export async function runUnderFaults(options: UnderFaults): Promise<{ readonly watched: number }> {
  const { trust, lanes, tally, wanted, endAt } = options;
  let watched = 0;
  const isEnough = (): boolean =>
    (lanes.total >= wanted.faults && tally.acknowledged >= wanted.writes) || performance.now() > endAt;
  for (let round = 0; !isEnough(); round += 1) {
    watched += await runRound(options, `r${round}`, isEnough);
    trust.report(
      `${lanes.total} faults, ${tally.acknowledged} acknowledged writes, ${tally.unknown} attempts without one`,
    );
  }
  return { watched };
}

/** Uses new tables each time: those with a thousand versions would measure something else. */
async function runRound(options: UnderFaults, round: string, isEnough: () => boolean): Promise<number> {
  const { trust, nodes, lanes, tally, wanted } = options;
  const context: WriterContext = { nodes, round, tally };
  const counters = makeCounters(trust.isShort ? 8 : 24);
  const scale = trust.isShort ? 1 : 3;
  const writers = [...makeRowWriters(context, { counters, scale }), ...makeTableWriters(context)];
  for (const writer of writers) await writer.prepare?.();
  const state = { isOver: false };
  const work = writers.map(async (writer) => keepWriting(writer, state, tally));
  const watch = watchCounters(context, counters, state);
  const wantedAfter = lanes.total + FAULTS_PER_ROUND;
  const isRoundOver = (): boolean => lanes.total >= wantedAfter || isEnough();
  const keepInjecting = async (inject: () => Promise<void>): Promise<void> => {
    while (!isRoundOver()) {
      await inject();
      trust.progress(lanes.total, wanted.faults);
      await writesDone(tally, (lanes.total * wanted.writes) / wanted.faults);
    }
  };
  await Promise.all([
    keepInjecting(async () => lanes.injectNodeFault()),
    keepInjecting(async () => lanes.injectStoreFault()),
  ]);
  state.isOver = true;
  await Promise.all(work);
  const watched = await watch;
  for (const writer of writers) await check(writer, tally);
  await dropAll(nodes, round);
  return watched;
}

async function writesDone(tally: NodesTally, count: number): Promise<void> {
  const endAt = performance.now() + WRITES_WAIT_MILLISECONDS;
  while (tally.acknowledged < count && performance.now() < endAt) await sleep(20);
}

async function keepWriting(writer: Writer, state: { readonly isOver: boolean }, tally: NodesTally): Promise<void> {
  for (let serial = 0; !state.isOver; serial += 1) {
    const before = tally.unknown;
    await writer.step(serial);
    // Slows down if nodes refuse immediately.
    if (tally.unknown > before) await sleep(50);
  }
}

const CHECKS_MAX = 60;

/** All faults are over, so a failed read is only repeated for a while. */
async function check(writer: Writer, tally: NodesTally): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await writer.check();
      return;
    } catch (error) {
      if (tries >= CHECKS_MAX) {
        tally.unexpected += 1;
        tally.blame('not readable', `${writer.name}: ${String(error)}`);
        return;
      }
      await sleep(500);
    }
  }
}

async function dropAll(nodes: AnyNode, round: string): Promise<void> {
  const names = (await listTables(nodes.patient())).filter((name) => name.startsWith(`${round}-`));
  await inParallel(names.length, 4, async (index) => {
    await nodes.post(`/v1/table/${names[index]}/drop`, {}).catch(() => undefined);
  });
}
