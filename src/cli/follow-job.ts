import { performance } from 'node:perf_hooks';
import { waitForJob } from '../client/jobs.ts';
import type { JobReply } from '../wire/jobs.ts';
import type { Session } from './client-command.ts';
import { paintForErrors } from './show/paint.ts';
import { visibleText } from './show/text-width.ts';

/** `undefined` when it did not end well; then the reason has been told. */
export async function followJob(session: Session, id: string, name: string): Promise<JobReply | undefined> {
  const { client, terminal } = session;
  const startedAt = performance.now();
  const job = await waitForJob(client, id, {
    onProgress: ({ phase }) => {
      const seconds = Math.round((performance.now() - startedAt) / 1000);
      terminal.status?.(`${name}: ${visibleText(phase)} … ${seconds} s`);
    },
  });
  terminal.status?.('');
  if (job.job_state === 'DONE') return job;
  const paint = paintForErrors(terminal);
  const reason = job.failure?.message ?? `The job ended as ${job.job_state}.`;
  terminal.err(`${paint.red('tiltyard:')} ${visibleText(reason)}\n`);
  return undefined;
}
