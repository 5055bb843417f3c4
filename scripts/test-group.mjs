// One process of a test run. Must be loaded before `node:test`.
import asyncHooks from 'node:async_hooks';
import { readFileSync, readdirSync, renameSync, unlinkSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';

/** Several times as long as the longest file takes on a slow machine. */
const FILE_MILLISECONDS_MAX = 900_000;
const END_MILLISECONDS_MAX = 60_000;
const RUNNING = 'running-';

// The test runner tracks which test every promise belongs to, which takes a tenth of the time of these tests. It only
// needs that while files are loaded, to assign tests to suites. Afterwards it would name the test of an uncaught error;
// without it, the process fails with the error's message.
const { createHook } = asyncHooks;
const hooks = [];
asyncHooks.createHook = (callbacks) => {
  // What it has learned until then need not be forgotten.
  const hook = createHook({ ...callbacks, destroy: undefined });
  hooks.push(hook);
  return hook;
};
const { describe } = await import('node:test');
asyncHooks.createHook = createHook;

/** Takes the next entry of a queue and marks it as running: only one of the competing processes can rename it. */
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

/**
 * Runs the files of the queues, each as a suite. A queue is a folder that several processes take entries from; entries
 * that are left in it have not ended.
 */
export async function runQueues(queues) {
  // Not a Node option, which the servers that tests start would inherit: their source maps take long to read.
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
