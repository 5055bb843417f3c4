import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { after, before, test } from 'node:test';
import { WaitingSockets } from '../../src/process/waiting-sockets.ts';

const server = createServer({ pauseOnConnect: true });
const clients: Socket[] = [];

before(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});

after(() => {
  for (const client of clients) client.destroy();
  server.close();
});

/** Both ends of a connection: ours, which is unread, and the client's. */
async function open(): Promise<{ readonly ours: Socket; readonly client: Socket }> {
  const address = server.address();
  const client = connect(typeof address === 'object' && address !== null ? address.port : 0, '127.0.0.1');
  client.on('error', () => {});
  clients.push(client);
  const [ours] = await once(server, 'connection');
  return { ours, client };
}

function create(options: { readonly socketsMax?: number; readonly waitSeconds?: number } = {}): {
  readonly sockets: WaitingSockets;
  readonly given: number[];
  readonly give: () => void;
  readonly refused: Promise<number>;
} {
  const reports = new EventEmitter();
  const refused = once(reports, 'refused').then(([count]: number[]) => count ?? 0);
  const onRefused = (count: number): void => void reports.emit('refused', count);
  const sockets = new WaitingSockets({ socketsMax: 10, waitSeconds: 60, ...options, onRefused });
  const given: number[] = [];
  return { sockets, given, give: () => sockets.giveAll((id) => given.push(id)), refused };
}

test('gives each connection once, and again after its worker died', async () => {
  const { sockets, given, give } = create();
  sockets.add((await open()).ours);
  sockets.add((await open()).ours);
  give();
  give();
  assert.deepEqual(given, [1, 2]);
  sockets.release(1);
  sockets.takeBack();
  give();
  assert.deepEqual(given, [1, 2, 2]);
  sockets.closeAll();
  sockets.takeBack();
  give();
  assert.deepEqual(given, [1, 2, 2], 'none is left');
});

test('closes our end once the worker has the connection', async () => {
  const { sockets, give } = create();
  const { ours } = await open();
  sockets.add(ours);
  give();
  assert.equal(ours.destroyed, false);
  sockets.release(1);
  sockets.release(1);
  assert.equal(ours.destroyed, true);
});

test('closes what comes when too many wait, and says how many', async () => {
  const { sockets, given, give, refused } = create({ socketsMax: 2 });
  const opened = [await open(), await open(), await open(), await open()];
  for (const { ours } of opened) sockets.add(ours);
  give();
  assert.deepEqual(given, [1, 2]);
  assert.deepEqual(
    opened.map(({ ours }) => ours.destroyed),
    [false, false, true, true],
  );
  assert.equal(await refused, 2);
  sockets.closeAll();
});

test('closes what has waited too long', async () => {
  const { sockets, given, give, refused } = create({ waitSeconds: 0.05 });
  const { ours, client } = await open();
  sockets.add(ours);
  await once(client, 'close');
  give();
  assert.deepEqual(given, []);
  assert.equal(await refused, 1);
});
