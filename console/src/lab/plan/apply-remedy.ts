import { defined } from '../../../../src/client/api-client.ts';
import type { ApiClient } from '../../../../src/client/api-client.ts';
import { callTable, waitForJob } from '../../../../src/client/calls.ts';
import { startIndex, startMaintenance } from '../../../../src/client/tables.ts';
import { pathSegment } from '../../../../src/model/identifier.ts';
import type { TablePath } from '../../../../src/model/identifier.ts';
import type { Remedy } from '../../../../src/plans/advice.ts';
import type { JobReply } from '../../../../src/wire/jobs.ts';
import { FormError } from '../form/query-body.ts';

/** Remedies that change the table; `set` changes only the form. */
type TableRemedy = Exclude<Remedy, { readonly kind: 'set' }>;

export interface Progress {
  readonly onPhase: (phase: string) => void;
  readonly signal: AbortSignal;
}

export async function applyRemedy(
  client: ApiClient,
  table: TablePath,
  remedy: TableRemedy,
  progress: Progress,
): Promise<void> {
  switch (remedy.kind) {
    case 'create-index': {
      const { column, indexType, distanceType, branch } = remedy;
      const options = defined({ distance_type: distanceType, branch });
      const { job_id: id } = await startIndex(client, table, { column, index_type: indexType, ...options });
      return follow(client, id, progress);
    }
    case 'refresh-index':
    case 'merge-fragments': {
      const { job_id: id } = await startMaintenance(client, table);
      return follow(client, id, progress);
    }
    case 'prewarm-index': {
      const { index, branch, version } = remedy;
      await callTable(client, table, `index/${pathSegment(index)}/prewarm`, defined({ branch, version }));
    }
  }
}

async function follow(client: ApiClient, id: string, { onPhase, signal }: Progress): Promise<void> {
  const job: JobReply = await waitForJob(client, id, { onProgress: ({ phase }) => onPhase(phase), signal });
  if (job.job_state === 'DONE') return;
  throw new FormError(job.failure?.message ?? `The job ended as ${job.job_state}.`, 'The table is as it was before.');
}
