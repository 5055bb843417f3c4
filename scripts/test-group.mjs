// A process of a test run. To be loaded before `node:test` is.
import asyncHooks from 'node:async_hooks';
import { readFileSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Several times what the longest file takes on a slow machine. */
const FILE_MILLISECONDS_MAX = 900_000;
const END_MILLISECONDS_MAX = 60_000;
const RUNNING = 'running-';

// The test runner follows every promise to the test that it belongs to, which takes a tenth of the time of these tests. It
// needs that only while files are loaded, to see which suite they belong to. Later it would name the test of an error that
// nothing catches; without it, the process fails with the message of the error.
const { createHook } = asyncHooks;
const hooks = [];
asyncHooks.createHook = (callbacks) => {
  // Nothing has to be forgotten of what it learns until then.
  const hook = createHook({ ...callbacks, destroy: undefined });
  hooks.push(hook);
  return hook;
};
const { describe } = await import('node:test');
asyncHooks.createHook = createHook;

/** The next entry of a queue, as one that is running: only one of the processes that want it can rename it. */
function takeEntry(queue) {
  for (const name of readdirSync(queue).toSorted()) {
    const running = join(queue, `${RUNNING}${name}`);
    if (name.startsWith(RUNNING)) continue;
    try {
      renameSync(join(queue, name), running);
      return running;
    } catch (error) {
      if (error.code !== 'ENOENT') throw error;
    }
  }
  return undefined;
}

async function runFile(file) {
  for (const hook of hooks) hook.enable();
  await describe(relative('build/test', file), { timeout: FILE_MILLISECONDS_MAX }, async () =>
    import(pathToFileURL(file)).finally(() => {
      for (const hook of hooks) hook.disable();
    }),
  );
}

/** Runs the files of the queues, each as a suite. A queue is a folder that other processes take from too; what is left in it has not ended. */
export async function runQueues(queues) {
  // Not by an option of Node, which the servers that tests start would inherit: their maps take long to read.
  process.setSourceMapsEnabled(true);
  const { shareBetweenFiles } = await import('../build/test/support/shared.js');
  const closeShared = shareBetweenFiles();
  for (const queue of queues) {
    for (let entry = takeEntry(queue); entry !== undefined; entry = takeEntry(queue)) {
      await runFile(readFileSync(entry, 'utf8'));
      unlinkSync(entry);
    }
  }
  await closeShared();
  setTimeout(() => {
    console.error(`The process does not end: ${process.getActiveResourcesInfo().join(', ')}`);
    process.exit(1);
  }, END_MILLISECONDS_MAX).unref();
}
