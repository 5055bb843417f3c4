import type { GuardedSql } from '../model/query.ts';
import { applyUpdate } from './apply-update.ts';
import { toAssignmentTree } from './assignment-tree.ts';
import type { Assignment } from './assignment-tree.ts';
import { toPointUpdate } from './point-update.ts';
import { toWriteState, writeInTurn } from './table-writes.ts';
import type { UpdateContext, WriteContext, WriteTarget } from './table-writes.ts';
import { UpdateGroup } from './update-group.ts';
import { answerTurns } from './update-together.ts';
import { UpdateTurn } from './update-turn.ts';
import type { UpdateOutcome } from './update-turn.ts';
import type { Rider } from './write-lanes.ts';

export type { UpdateOutcome } from './update-turn.ts';

export interface UpdateRequest {
  readonly assignments: readonly Assignment[];
  readonly predicate: GuardedSql | undefined;
}

/**
 * Without a predicate every row is updated. The engine makes a new version even when no row matches. Updates that wait
 * for the table one behind the other run as one, with one version, where that makes no difference to the rows.
 */
export async function updateRows(
  context: UpdateContext,
  target: WriteTarget,
  { assignments, predicate }: UpdateRequest,
): Promise<UpdateOutcome> {
  const turn = new UpdateTurn(target, { tree: toAssignmentTree(assignments), predicate });
  return context.lanes.run(target.place, async () => runTurn(context, turn), {
    rider: turn,
    leaving: target.leaving,
  });
}

async function runTurn(context: UpdateContext, turn: UpdateTurn): Promise<UpdateOutcome> {
  const turns = await takeAlong(context, turn);
  context.onUpdateGroup(turns.length);
  if (turns.length === 1) return writeInTurn(context, turn.target, async (table) => applyUpdate(table, turn.plan));
  await answerTurns(context, turns);
  return turn.outcome;
}

/** The update and those behind it that may run with it. The first that may not stays where it is, and all behind it. */
async function takeAlong(context: WriteContext, turn: UpdateTurn): Promise<readonly UpdateTurn[]> {
  const { lanes, tables, limits } = context;
  const state = toWriteState(turn.target);
  const { place, branch } = state;
  const isAlone = limits.updateGroupMax === 1 || !lanes.isAwaited(place);
  if (isAlone || turn.target.intent?.isConditional === true || toPointUpdate(turn.plan) === undefined) return [turn];
  const schema = await tables.use(state, async (table) => table.schema());
  const group = UpdateGroup.start(turn.plan, schema);
  if (group === undefined) return [turn];
  const joins = (rider: Rider<unknown>): rider is UpdateTurn =>
    rider instanceof UpdateTurn &&
    rider.target.intent?.isConditional !== true &&
    toWriteState(rider.target).branch === branch &&
    group.add(rider.plan);
  const turns = [turn];
  while (turns.length < limits.updateGroupMax) {
    const next = lanes.takeNext(place, joins);
    if (next === undefined) break;
    turns.push(next);
  }
  return turns;
}
