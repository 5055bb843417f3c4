import { Int32, toStream } from '../../test/support/arrow-tables.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { none, info } from '../campaign.ts';
import { inParallel } from '../parallel.ts';

const CONTENDERS = 8;
const NAMES_AT_ONCE = 2;

/** Eight clients create the same name at the same moment: one succeeds, seven learn that it exists. */
export const races: Campaign = {
  name: 'races',
  promise: 'of all who create a name at once, exactly one wins',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const names = trust.size(1000, 100);
    const server = await trust.startServer(['--http-uploads-max=64']);
    const admin = server.admin.patient();
    let wrong = 0;
    let unexpected = 0;
    let foreignRows = 0;
    await inParallel(names, NAMES_AT_ONCE, async (serial) => {
      trust.progress(serial, names);
      const streams = Array.from({ length: CONTENDERS }, (_unused, who) =>
        toStream({ who: [new Int32(), () => who] }, 2),
      );
      const replies = await Promise.all(
        streams.map(async (stream) => admin.arrow(`/v1/table/race-${serial}/create`, stream)),
      );
      const winners = replies.flatMap(({ status }, who) => (status === 200 ? [who] : []));
      unexpected += replies.filter(({ status }) => status !== 200 && status !== 409).length;
      if (winners.length !== 1) {
        wrong += 1;
        trust.blame('winners', `race-${serial}: ${replies.map(({ status }) => status).join(' ')}`);
      }
      const count = await admin.post(`/v1/table/race-${serial}/count_rows`, {
        predicate: `who = ${winners[0]}`,
      });
      if (count.json !== 2) foreignRows += 1;
    });
    return [
      info('names', names),
      info('contenders per name', CONTENDERS),
      none('names without exactly one winner', wrong),
      none('answers other than 200 and 409', unexpected),
      none('tables with other rows than their winner sent', foreignRows),
      none('worker crashes', server.crashes()),
    ];
  },
};
