import { AnsweredBefore } from '../model/write-intent.ts';
import type { WriteIntent } from '../model/write-intent.ts';
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
  if (await new JointUpdate(context, { ...first.target, intent: joinIntents(turns) }, turns).answer()) return;
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

/** All of them are told at once, so that they share what that costs; none is left on its way when one is refused. */
function joinIntents(turns: readonly UpdateTurn[]): WriteIntent | undefined {
  const intents = turns.flatMap(({ target }) => target.intent ?? []);
  if (intents.length === 0) return undefined;
  return {
    isConditional: false,
    async begin(versionBefore) {
      const begun = await Promise.allSettled(intents.map(async (intent) => intent.begin(versionBefore)));
      for (const outcome of begun) if (outcome.status === 'rejected') throw outcome.reason;
    },
    fail() {
      for (const intent of intents) intent.fail();
    },
    async land(version) {
      let answer = new AnsweredBefore({ journalId: '', version, transactionId: undefined, outcome: {} });
      for (const turn of turns) {
        answer = (await turn.target.intent?.land(version)) ?? answer;
        turn.fail(answer);
      }
      return answer;
    },
  };
}
