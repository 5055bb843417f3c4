import { startMaintenance } from '../../client/tables.ts';
import { formatBytes, formatTime } from '../../plans/format-figure.ts';
import { answer, defineClientCommand, requireTable, showPath } from '../client-command.ts';
import type { Command } from '../command.ts';
import { EXIT } from '../command.ts';
import { followJob } from '../session.ts';
import { countOf } from '../show/text.ts';

export const optimizeCommand: Command = defineClientCommand({
  words: ['optimize'],
  names: 'TABLE',
  summary: 'put a table in order now: merge fragments, refresh indexes, remove old versions',
  about: 'The server does this by itself when a table needs it; this does it now, and waits for it.',
  examples: ['optimize orders'],
  async run(session) {
    const table = requireTable(session.given);
    const { job_id: id } = await startMaintenance(session.client, table);
    const job = await followJob(session, id, `optimizing ${showPath(table)}`);
    if (job === undefined) return EXIT.failed;
    return answer(session, { job_id: id, result: job.result }, draw(showPath(table), job.result ?? {}));
  },
});

function draw(name: string, result: object): string {
  const fields = new Map<string, unknown>(Object.entries(result));
  const figure = (field: string): number => Number(fields.get(field) ?? 0);
  if (fields.get('lost_to_writer') === true) return `A writer was faster, and ${name} was left as it is. Try again.\n`;
  const done: string[] = [];
  if (figure('fragments_removed') > 0) {
    done.push(`${countOf(figure('fragments_removed'), 'fragment')} merged into ${figure('fragments_added')}`);
  }
  if (figure('versions_removed') > 0) {
    done.push(`${countOf(figure('versions_removed'), 'old version')} removed, ${formatBytes(figure('bytes_removed'))}`);
  }
  if (figure('files_swept') > 0) done.push(`${countOf(figure('files_swept'), 'file')} swept`);
  const time = formatTime(figure('milliseconds') * 1_000_000);
  return `${name} is in order, at version ${figure('version')} (${[...done, time].join('; ')}).\n`;
}
