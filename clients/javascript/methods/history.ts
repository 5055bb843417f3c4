import type { Branches, Job } from '@lancedb/lancedb';
import { onNew } from '../side.ts';
import type { Probe, Probes } from '../side.ts';

export const TAGS: Probes = {
  list: onNew(async (table) => {
    await (await table.tags()).create('one', 1);
    return Object.entries(await (await table.tags()).list()).map(([name, { version }]) => [name, version]);
  }),
  create: onNew(async (table) => {
    const tags = await table.tags();
    await tags.create('one', 1);
    await table.delete('id < 10');
    await table.checkout('one');
    return table.countRows();
  }),
  getVersion: onNew(async (table) => {
    await (await table.tags()).create('one', 1);
    return (await table.tags()).getVersion('one');
  }),
  update: onNew(async (table) => {
    const tags = await table.tags();
    await tags.create('one', 1);
    await table.delete('id < 10');
    await tags.update('one', 2);
    return tags.getVersion('one');
  }),
  delete: onNew(async (table) => {
    await (await table.tags()).create('one', 1);
    await (await table.tags()).delete('one');
    return (await table.tags()).list();
  }),
};

/** Of release 0.37; later ones have `cherryPick`. */
interface FormerBranches {
  merge(from: string): Promise<unknown>;
}

export const BRANCHES: Probes = {
  list: onNew(async (table) => {
    await (await table.branches()).create('side');
    return Object.keys(await (await table.branches()).list());
  }),
  create: onNew(async (table) => (await (await table.branches()).create('side')).currentBranch()),
  checkout: onNew(async (table) => {
    const branches = await table.branches();
    await (await branches.create('side')).delete('id < 10');
    return [await (await branches.checkout('side')).countRows(), await table.countRows()];
  }),
  delete: onNew(async (table) => {
    await (await table.branches()).create('side');
    await (await table.branches()).delete('side');
    return (await table.branches()).list();
  }),
  diff: branched(async (branches) => branches.diff('side')),
  cherryPick: branched(async (branches) => branches.cherryPick('side')),
  merge: branched(async (branches) => (branches as unknown as FormerBranches).merge('side')),
};

function branched(work: (branches: Branches) => Promise<unknown>): Probe {
  return onNew(async (table) => {
    const branches = await table.branches();
    await (await branches.create('side')).delete('id < 10');
    return work(branches);
  });
}

/** On the job of an index that was built in the background. */
function job(work: (job: Job) => unknown): Probe {
  return onNew(async (table, { lancedb }) => {
    const started = await table.createIndexAsync('id', { config: lancedb.Index.btree() });
    await started.wait();
    return work(started);
  });
}

export const JOB: Probes = {
  id: job(({ id }) => id !== undefined),
  state: job(async (each) => {
    await each.refresh();
    return each.state;
  }),
  jobType: job(({ jobType }) => jobType),
  creationMs: job(({ creationMs }) => typeof creationMs),
  spec: job(({ spec }) => typeof spec),
  result: job(({ result }) => typeof result),
  failure: job(({ failure }) => failure),
  status: job(async (each) => each.status()),
  wait: job(async (each) => each.wait()),
  cancel: job(async (each) => each.cancel()),
  refresh: job(async (each) => each.refresh()),
  events: job(async (each) => (await each.events()).numRows > 0),
  toString: job((each) => String(each).length > 0),
};
