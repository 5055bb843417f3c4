import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Socket } from 'node:net';
import { test } from 'node:test';
import { Connections, InFlight } from '../../../src/http/admission/in-flight.ts';

test('is idle when the last request has ended', async () => {
  const inFlight = new InFlight();
  await inFlight.whenIdle();
  inFlight.begin();
  inFlight.begin();
  let idle = 0;
  const waits = [inFlight.whenIdle(), inFlight.whenIdle()].map(async (wait) => {
    await wait;
    idle += 1;
  });
  inFlight.end();
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(idle, 0);
  inFlight.end();
  await Promise.all(waits);
  assert.equal(idle, 2);
});

test('admits connections up to the limit, and refuses more until one has closed', async () => {
  const connections = new Connections(2, () => undefined);
  const [first, second, third, fourth] = [new Socket(), new Socket(), new Socket(), new Socket()];
  assert.ok(connections.admit(first) && connections.admit(second));
  assert.equal(connections.admit(third), false);
  assert.equal(third.destroyed, true);
  assert.equal(connections.open, 2);
  first.destroy();
  await once(first, 'close');
  assert.equal(connections.open, 1);
  assert.equal(connections.admit(fourth), true);
  assert.equal(second.destroyed, false);
});

test('reports refused connections in one sum', async () => {
  const told = await new Promise<number>((resolve) => {
    const connections = new Connections(0, resolve);
    for (let count = 0; count < 50; count += 1) assert.equal(connections.admit(new Socket()), false);
    setTimeout(() => undefined, 2000);
  });
  assert.equal(told, 50);
});
