import { ServiceError } from '../errors/service-error.ts';
import type { EngineLimits } from '../model/limits.ts';
import { MAIN_BRANCH } from '../model/table.ts';
import type { Place, TableState } from '../model/table.ts';
import { AnsweredBefore } from '../model/write-intent.ts';
import type { WriteIntent } from '../model/write-intent.ts';
import { engineCall, isRetryableConflict } from './engine-errors.ts';
import { lookForLanded } from './landed-write.ts';
import type { OpenTable } from './open-table.ts';
import type { OpenTables } from './open-tables.ts';
import type { Lanes } from './durable-lanes.ts';

/** What a write is about: a table, on its main branch or another. */
export interface WriteTarget {
  readonly place: Place;
  readonly branch: string | undefined;
  /** Fires when the caller has gone: a write that still waits for its turn is then given up. */
  readonly leaving?: () => AbortSignal;
  /** Told in the lane, before the engine commits. */
  readonly intent?: WriteIntent | undefined;
}

export interface WriteContext {
  readonly lanes: Lanes;
  readonly tables: OpenTables;
  readonly limits: EngineLimits;
}

/** The same for updates, of which several may share a commit. */
export interface UpdateContext extends WriteContext {
  readonly onUpdateGroup: (members: number) => void;
}

/** Runs a write in the lane of its table, on a handle that is up to date, again when another process was faster. */
export async function writeInLane<Value>(
  context: WriteContext,
  target: WriteTarget,
  write: (table: OpenTable) => Promise<Value>,
): Promise<Value> {
  const { leaving } = target;
  return context.lanes.run(target.place, async () => writeInTurn(context, target, write), { leaving });
}

/** The same, for whoever already has the turn in that lane. */
export async function writeInTurn<Value>(
  { tables, limits }: WriteContext,
  target: WriteTarget,
  write: (table: OpenTable) => Promise<Value>,
): Promise<Value> {
  const state = toWriteState(target);
  const { intent } = target;
  return retryConflicts(limits.writeAttemptsMax, async () =>
    tables.use(state, async (table) => {
      let before: number | undefined;
      try {
        before = await beginWrite(intent, table);
        return await write(table);
      } catch (error) {
        table.forget();
        const landed = before === undefined || !isUnclear(error) ? undefined : await landAfter(tables, state, before);
        if (landed !== undefined && intent !== undefined) throw await intent.land(landed);
        intent?.fail();
        throw error;
      }
    }),
  );
}

async function beginWrite(intent: WriteIntent | undefined, { native }: OpenTable): Promise<number | undefined> {
  if (intent === undefined) return undefined;
  const version = await engineCall(async () => native.version());
  await intent.begin(version);
  return version;
}

/** A failure of the service or its storage, after which nobody knows whether the commit came before it. */
function isUnclear(error: unknown): boolean {
  if (error instanceof ServiceError) return error.row.status >= 500 && !isRetryableConflict(error);
  return !(error instanceof AnsweredBefore);
}

const ROW_WRITES = ['append', 'update', 'delete'] as const;

/** In its turn nobody else writes rows. When it cannot be found out either, the failure is told as it is. */
async function landAfter(tables: OpenTables, state: TableState, after: number): Promise<number | undefined> {
  return lookForLanded(tables, state, { after, upTo: Infinity, kinds: ROW_WRITES }).catch(() => undefined);
}

/** The latest state of what is written to. */
export function toWriteState({ place, branch }: WriteTarget): TableState {
  return { place, branch: branch === MAIN_BRANCH ? undefined : branch, version: undefined };
}

/** A conflict commits nothing, so the same write may run again; each attempt starts from the newest version. */
export async function retryConflicts<Value>(attemptsMax: number, attempt: () => Promise<Value>): Promise<Value> {
  for (let attempts = 1; ; attempts += 1) {
    try {
      return await attempt();
    } catch (error) {
      if (attempts >= attemptsMax || !isRetryableConflict(error)) throw error;
    }
  }
}
