import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { getPriority } from 'node:os';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { ENGINE_LIMITS, openTestEngine, toStream } from '../test-engine.ts';
import { toItems } from '../sample-tables.ts';

const onLinux = { skip: process.platform !== 'linux' && 'only Linux gives threads priorities of their own' };

/** How far each thread stands back behind the process, by whether it is one of the engine's. */
function readNice(): { readonly engine: readonly number[]; readonly others: readonly number[] } {
  const engine: number[] = [];
  const others: number[] = [];
  for (const thread of readdirSync('/proc/self/task')) {
    const isEngine = /^(?:tokio|lance)/.test(readFileSync(`/proc/self/task/${thread}/comm`, 'utf8'));
    (isEngine ? engine : others).push(getPriority(Number(thread)) - getPriority());
  }
  return { engine, others };
}

test('the threads of the engine have a lower priority than the event loop', onLinux, async (t) => {
  const before = readNice();
  assert.deepEqual(new Set(before.others), new Set([0]));
  const { engine, location } = await openTestEngine(t, { limits: { ...ENGINE_LIMITS, threadNice: 3 } });
  await engine.createTable(location(), await toStream(toItems(10)), {});
  const until = performance.now() + 20_000;
  // Those that come later are found at the next look.
  while (readNice().engine.some((nice) => nice !== 3) && performance.now() < until) await sleep(50);
  const { engine: lowered, others } = readNice();
  assert.ok(lowered.length > 0, 'the engine has threads');
  assert.deepEqual(new Set(lowered), new Set([3]));
  assert.deepEqual(new Set(others), new Set([0]));
});
