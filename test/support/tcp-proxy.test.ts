import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { suite, test } from 'node:test';
import type { TestContext } from 'node:test';
import { findFreePort } from './free-port.ts';
import { TcpProxy } from './tcp-proxy.ts';

/** Answers with its name. */
async function startHttp(context: TestContext, name: string): Promise<number> {
  const server: Server = createServer((_request, response) => response.end(name));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  context.after(() => server.close());
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
  return (server.address() as AddressInfo).port;
}

async function startProxy(context: TestContext, ...ports: readonly number[]): Promise<TcpProxy> {
  const proxy = await TcpProxy.start(...ports);
  context.after(() => proxy.close());
  return proxy;
}

/** Not by `fetch`, which connects again for as long as connections are closed. */
async function ask({ url }: TcpProxy): Promise<string> {
  const [reply] = await once(get(url, { agent: false }), 'response');
  return text(reply);
}

suite('a proxy of the tests', () => {
  test('forwards', async (context) => {
    const proxy = await startProxy(context, await startHttp(context, 'one'));
    assert.equal(await ask(proxy), 'one');
  });

  test('holds what is sent while it is paused, and delivers it afterwards', async (context) => {
    let asked = 0;
    const server = createServer((_request, response) => {
      asked += 1;
      response.end('late');
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    context.after(() => server.close());
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- It listens on a port.
    const proxy = await startProxy(context, (server.address() as AddressInfo).port);
    proxy.pause();
    const answer = ask(proxy);
    const isOpen = await Promise.race([
      answer.then(() => false),
      new Promise((resolve) => setTimeout(resolve, 50, true)),
    ]);
    assert.ok(isOpen);
    assert.equal(asked, 0);
    proxy.resume();
    assert.equal(await answer, 'late');
  });

  test('closes connections while it is cut', async (context) => {
    const proxy = await startProxy(context, await startHttp(context, 'one'));
    proxy.cut();
    await assert.rejects(ask(proxy));
    proxy.resume();
    assert.equal(await ask(proxy), 'one');
  });

  test('goes to each of several ports in turn, past one that refuses', async (context) => {
    const ports = [await startHttp(context, 'one'), await findFreePort(), await startHttp(context, 'two')];
    const proxy = await startProxy(context, ...ports);
    const answers = new Set<string>();
    for (let serial = 0; serial < 6; serial += 1) answers.add(await ask(proxy));
    assert.deepEqual([...answers].toSorted(), ['one', 'two']);
  });
});
