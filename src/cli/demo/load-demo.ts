import type { ApiClient } from '../../client/api-client.ts';
import { waitForJob } from '../../client/calls.ts';
import { ClientError } from '../../client/client-error.ts';
import { createTag } from '../../client/history.ts';
import { updateRows } from '../../client/rows.ts';
import { createNamespace, createTable, startIndex } from '../../client/tables.ts';
import type { TablePath } from '../../model/identifier.ts';
import { galleryStream } from './gallery.ts';

export const GALLERY: TablePath = ['demo', 'gallery'];

/** Returns whether the table is new: what is there already stays as it is. */
export async function loadDemo(client: ApiClient): Promise<boolean> {
  await createNamespace(client, ['demo'], { mode: 'exist_ok' });
  try {
    await createTable(client, GALLERY, galleryStream());
  } catch (error) {
    if (error instanceof ClientError && error.status === 409) return false;
    throw error;
  }
  await createTag(client, GALLERY, { tag: 'opening', version: 1 });
  for (const body of [
    { column: 'description', index_type: 'FTS' },
    { column: 'price', index_type: 'BTREE' },
  ]) {
    const { job_id: job } = await startIndex(client, GALLERY, body);
    if (job !== undefined) await waitForJob(client, job);
  }
  // A change to look at in the history of the table.
  await updateRows(client, GALLERY, { updates: [['price', 'price * 0.5']], predicate: "palette = 'dusk'" });
  return true;
}
