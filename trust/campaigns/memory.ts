import { request } from 'node:http';
import type { ClientRequest } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  TYPES,
  batchMessage,
  field,
  fixedSizeListType,
  schemaMessage,
  streamOf,
} from '../../test/support/arrow-fixtures.ts';
import type { Campaign, Figure, Trust } from '../campaign.ts';
import { atLeast, atMost, none, onQuietMachine, info } from '../campaign.ts';
import { ARROW_STREAM } from '../http.ts';
import { makeBombs } from '../model/bombs.ts';
import { inParallel } from '../parallel.ts';
import type { TrustServer } from '../server.ts';

const DIMENSIONS = 256;
const BATCH_ROWS = 4096;
const BATCHES_OF_64_MEBIBYTES = 16;
const TRIES_PER_BOMB = 20;

export const memory: Campaign = {
  name: 'memory',
  promise: 'neither many uploads nor a small body that stands for a huge one take more than their share',
  async run(trust: Trust): Promise<readonly Figure[]> {
    const clients = trust.size(200, 24);
    const batches = trust.size(BATCHES_OF_64_MEBIBYTES, 4);
    const server = await trust.startServer();
    const bombs = await throwBombs(trust, server);
    const watch = watchMemory(server);
    const startedAt = performance.now();
    const seen = { done: 0, refused: 0, other: 0 };
    const pieces = makePieces(batches);
    await inParallel(clients, clients, async (index) => {
      await keepUploading(server, `upload-${index}`, pieces, seen);
      trust.progress(seen.done, clients);
    });
    const seconds = (performance.now() - startedAt) / 1000;
    const mebibytes = await watch.stop();
    return [
      atLeast(`uploads of ${batches * 4} MiB, all at once, each tried again until it is in`, seen.done, clients),
      info('refusals with 503 on the way', seen.refused),
      none('other answers', seen.other),
      info('took', seconds, 's'),
      atMost('most memory of supervisor and worker', mebibytes, 1536, 'MiB'),
      ...bombs,
      none('worker crashes', server.crashes()),
    ];
  },
};

/** A stream of vectors in batches of 4 MiB; all clients send the same bytes. */
function makePieces(batches: number): readonly Buffer[] {
  const schema = schemaMessage([
    field('vec', fixedSizeListType(DIMENSIONS), { children: [field('item', TYPES.float32)] }),
  ]);
  const numbers = new Float32Array(BATCH_ROWS * DIMENSIONS).map((_unused, index) => Math.sin(index));
  const nothing = Buffer.alloc(0);
  const batch = batchMessage({
    rows: BATCH_ROWS,
    nodes: [
      [BATCH_ROWS, 0],
      [BATCH_ROWS * DIMENSIONS, 0],
    ],
    buffers: [nothing, nothing, Buffer.from(numbers.buffer)],
  });
  return [schema, ...Array.from({ length: batches }, () => batch), streamOf()];
}

async function keepUploading(
  server: TrustServer,
  name: string,
  pieces: readonly Buffer[],
  seen: { done: number; refused: number; other: number },
): Promise<void> {
  for (;;) {
    const status = await upload(server, `/v1/table/${name}/create`, pieces).catch(() => 503);
    if (status === 503) {
      seen.refused += 1;
      await sleep(200 + Math.random() * 800);
      continue;
    }
    seen[status === 200 ? 'done' : 'other'] += 1;
    await server.admin.post(`/v1/table/${name}/drop`, {});
    return;
  }
}

async function upload({ url, key }: TrustServer, path: string, pieces: readonly Buffer[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(`${url}${path}`, {
      method: 'POST',
      agent: false,
      headers: { 'x-api-key': key, 'content-type': ARROW_STREAM },
    });
    let isAnswered = false;
    sent.on('error', (error) => (isAnswered ? undefined : reject(error)));
    sent.once('response', (response) => {
      isAnswered = true;
      response.resume();
      response.once('end', () => {
        resolve(response.statusCode ?? 0);
        sent.destroy();
      });
    });
    void (async () => {
      for (const piece of pieces) {
        if (isAnswered || sent.destroyed) return;
        if (!sent.write(piece)) await drained(sent);
      }
      sent.end();
    })();
  });
}

async function drained(sent: ClientRequest): Promise<void> {
  await new Promise<void>((resolve) => {
    const go = (): void => {
      sent.off('drain', go).off('close', go);
      resolve();
    };
    sent.once('drain', go).once('close', go);
  });
}

function watchMemory(server: TrustServer): { stop(): Promise<number> } {
  const state = { isOver: false };
  let most = 0;
  const run = (async () => {
    while (!state.isOver) {
      most = Math.max(most, await server.residentMebibytes());
      await sleep(50);
    }
  })();
  return {
    async stop() {
      state.isOver = true;
      await run;
      return most;
    },
  };
}

async function throwBombs(trust: Trust, server: TrustServer): Promise<readonly Figure[]> {
  const figures: Figure[] = [];
  for (const [name, body] of Object.entries(makeBombs())) {
    const times: number[] = [];
    let accepted = 0;
    for (let index = 0; index < TRIES_PER_BOMB; index += 1) {
      const reply = await server.admin.arrow(`/v1/table/bomb-${index}/create`, body);
      times.push(reply.milliseconds);
      if (reply.status === 400 || reply.status === 413) continue;
      accepted += 1;
      trust.blame('bomb', `${name}: ${reply.status} ${reply.text.slice(0, 200)}`);
    }
    // The first one includes the cost of one-time loading.
    const median = times.toSorted((one, other) => one - other)[Math.floor(times.length / 2)] ?? 0;
    figures.push(none(`${name} (${Math.ceil(body.length / 1024)} KiB) not refused`, accepted));
    figures.push(
      onQuietMachine(atMost(`${name}: time to the refusal (median of ${TRIES_PER_BOMB})`, median, 50, 'ms')),
    );
  }
  return figures;
}
