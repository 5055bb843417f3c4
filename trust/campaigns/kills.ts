import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../test/support/arrow-fixtures.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, atMost, none, onQuietMachine, info } from '../campaign.ts';
import { startProbe } from '../probe.ts';
import type { TrustServer } from '../server.ts';
import { derivedWriter } from './kill-derived.ts';
import { makeWriters } from './kill-writers.ts';
import type { Tally, Writer } from './kill-writers.ts';

const KILLS_PER_ROUND = 25;
/** The share of the time for killing; the rest is for the final comparison. */
const TIME_SHARE = 0.85;
/** Longest wait for the number of writes that belong to a kill. */
const WRITES_WAIT_MILLISECONDS = 5000;

/** Kills the worker repeatedly under writers of all kinds, then compares the tables with the replies. */
export const kills: Campaign = {
  name: 'kills',
  promise: 'what was acknowledged is there, once and whole, after any number of crashes',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const wanted = { kills: trust.size(500, 25), writes: trust.size(50_000, 500) };
    const server = await trust.startServer(['--log-level=info']);
    const tally = newTally(trust);
    const random = seededRandom(trust.seed);
    const probe = startProbe(server);
    const endAt = performance.now() + TIME_SHARE * trust.minutesMax * 60_000;
    let killed = 0;
    for (
      let round = 0;
      (killed < wanted.kills || tally.acknowledged < wanted.writes) && performance.now() < endAt;
      round += 1
    ) {
      await runRound({
        server,
        tally,
        random,
        round: `r${round}`,
        endAt,
        killedBefore: killed,
        writesPerKill: wanted.writes / wanted.kills,
        killed() {
          killed += 1;
          trust.progress(killed, wanted.kills);
        },
      });
      trust.report(`${killed} kills, ${tally.acknowledged} acknowledged writes`);
    }
    const seen = await probe.stop();
    return [
      atLeast('kills of the worker', killed, wanted.kills),
      atLeast('acknowledged writes', tally.acknowledged, wanted.writes),
      info('writes whose answer was lost or 5xx', tally.unknown),
      info('facts compared', tally.checked),
      info('updates without a key that were answered as one before them', tally.replayed),
      none('lost', tally.lost),
      none('doubled', tally.doubled),
      none('torn', tally.torn),
      none('inserts there although 5xx was answered', tally.failedAfterCommit),
      none('unexpected answers', tally.unexpected),
      onQuietMachine(atMost('longest time without an answer', seen.longestMilliseconds, 2000, 'ms')),
      info('longest start of a worker, in milliseconds', server.longestWorkerStart()),
      info('workers replaced because they did not answer', server.stalls()),
      none('connections refused', seen.refused),
    ];
  },
};

function newTally(trust: Trust): Tally {
  const counts = { acknowledged: 0, unknown: 0, refused: 0, checked: 0, lost: 0, doubled: 0, torn: 0 };
  return {
    ...counts,
    failedAfterCommit: 0,
    unexpected: 0,
    replayed: 0,
    blame: (kind, detail) => trust.blame(kind, detail),
  };
}

interface Round {
  readonly server: TrustServer;
  readonly tally: Tally;
  readonly random: (below: number) => number;
  readonly round: string;
  readonly endAt: number;
  readonly killedBefore: number;
  /** On average. */
  readonly writesPerKill: number;
  readonly killed: () => void;
}

/** Uses new tables each time: those with a thousand versions would measure something else. */
async function runRound(options: Round): Promise<void> {
  const { server, tally, random, round, endAt, killedBefore, writesPerKill, killed } = options;
  const parts = { client: server.admin, round, tally };
  const writers = [...makeWriters(parts), derivedWriter(parts)];
  for (const writer of writers) await writer.prepare();
  const state = { isOver: false };
  const work = writers.map(async (writer) => keepWriting(writer, state));
  for (let kill = 0; kill < KILLS_PER_ROUND && performance.now() < endAt; kill += 1) {
    await writesDone(tally, (killedBefore + kill + 1) * writesPerKill);
    await sleep(random(300));
    await server.killWorker();
    killed();
  }
  await sleep(200);
  state.isOver = true;
  await Promise.all(work);
  for (const writer of writers) await writer.check();
}

async function writesDone(tally: Tally, count: number): Promise<void> {
  const endAt = performance.now() + WRITES_WAIT_MILLISECONDS;
  while (tally.acknowledged < count && performance.now() < endAt) await sleep(10);
}

async function keepWriting(writer: Writer, state: { readonly isOver: boolean }): Promise<void> {
  for (let serial = 0; !state.isOver; serial += 1) {
    await writer.step(serial);
    if (writer.pauseMilliseconds > 0) await sleep(writer.pauseMilliseconds);
  }
}
