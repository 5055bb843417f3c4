import { applyUpdate } from './apply-update.ts';
import { JointUpdate } from './joint-update.ts';
import { writeInTurn } from './table-writes.ts';
import type { WriteContext } from './table-writes.ts';
import type { UpdateTurn } from './update-turn.ts';

/**
 * Answers updates of one table, in order. Those that cannot run as one, or that failed as one, are answered in two halves,
 * down to each alone: so that a fault reaches nobody but the update that has it.
 */
export async function answerTurns(context: WriteContext, turns: readonly UpdateTurn[]): Promise<void> {
  const [first, ...others] = turns;
  if (first === undefined) return;
  if (others.length === 0) {
    await answerAlone(context, first);
    return;
  }
  if (await new JointUpdate(context, first.target, turns).answer()) return;
  const middle = Math.ceil(turns.length / 2);
  await answerTurns(context, turns.slice(0, middle));
  await answerTurns(context, turns.slice(middle));
}

async function answerAlone(context: WriteContext, turn: UpdateTurn): Promise<void> {
  try {
    turn.succeed(await writeInTurn(context, turn.target, async (table) => applyUpdate(table, turn.plan)));
  } catch (error) {
    turn.fail(error);
  }
}
