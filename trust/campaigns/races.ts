import { Int32, toStream } from '../../test/support/arrow-tables.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { none, info } from '../campaign.ts';
import type { HttpClient } from '../http.ts';
import { inParallel } from '../parallel.ts';

const CONTENDERS = 8;
const NAMES_AT_ONCE = 2;

/** Eight clients create the same name at the same moment: one succeeds, seven are told that it exists. */
export const races: Campaign = {
  name: 'races',
  promise: 'of all who create a name at once, exactly one wins',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const names = trust.size(1000, 100);
    const server = await trust.startServer(['--http-uploads-max=64']);
    const admin = server.admin.patient();
    const seen = await raceForNames(trust, admin, { names, contenders: CONTENDERS });
    return [
      info('names', names),
      info('contenders per name', CONTENDERS),
      none('names without exactly one winner', seen.wrong),
      none('answers other than 200 and 409', seen.unexpected),
      none('tables with other rows than their winner sent', seen.foreignRows),
      none('worker crashes', server.crashes()),
    ];
  },
};

export interface RaceOutcome {
  /** Names without exactly one winner. */
  wrong: number;
  /** Replies other than 200 and 409. */
  unexpected: number;
  /** Tables with rows that their winner did not send. */
  foreignRows: number;
}

export async function raceForNames(
  trust: Trust,
  client: HttpClient,
  { names, contenders }: { readonly names: number; readonly contenders: number },
): Promise<RaceOutcome> {
  const seen: RaceOutcome = { wrong: 0, unexpected: 0, foreignRows: 0 };
  await inParallel(names, NAMES_AT_ONCE, async (serial) => {
    trust.progress(serial, names);
    const table = `/v1/table/race-${serial}`;
    const streams = Array.from({ length: contenders }, (_unused, who) =>
      toStream({ who: [new Int32(), () => who] }, 2),
    );
    const replies = await Promise.all(streams.map(async (stream) => client.arrow(`${table}/create`, stream)));
    const winners = replies.flatMap(({ status }, who) => (status === 200 ? [who] : []));
    const unexpected = replies.filter(({ status }) => status !== 200 && status !== 409);
    seen.unexpected += unexpected.length;
    for (const { status, text } of unexpected) trust.blame('unexpected answer', `race-${serial}: ${status} ${text}`);
    if (winners.length !== 1) {
      seen.wrong += 1;
      trust.blame('winners', `race-${serial}: ${replies.map(({ status }) => status).join(' ')}`);
    }
    const count = await client.post(`${table}/count_rows`, { predicate: `who = ${winners[0]}` });
    if (count.json !== 2) seen.foreignRows += 1;
  });
  return seen;
}
