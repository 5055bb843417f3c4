// Runs test files in one process, each as a suite. To be imported before `node:test` is.
import asyncHooks from 'node:async_hooks';

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

/** `files`: their names, and what imports them. */
export async function runGroup(files) {
  const loading = Object.entries(files).map(
    async ([name, load]) =>
      new Promise((resolve) => {
        describe(name, async () => load().finally(resolve));
      }),
  );
  await Promise.all(loading);
  for (const hook of hooks) hook.disable();
}
