import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { Client } from '../../support/client.ts';
import {
  EmbeddingProvider,
  MODEL,
  PROVIDER_KEY,
  answerWell,
  embed,
  sendJson,
} from '../../support/embedding-provider.ts';
import type { ProviderCall } from '../../support/embedding-provider.ts';
import { eventually } from '../../support/eventually.ts';
import { ShownMetrics } from '../../support/metrics.ts';
import { ADMIN_KEY } from '../../support/server.ts';
import { startServerProcess } from '../../support/server-process.ts';
import { ContractServer } from '../contract-server.ts';
import type { MadeTable } from '../contract-server.ts';
import { CODE, assertRefused, badRequest } from '../refusal.ts';
import { embeddedTable, search, titleStream, titlesOf } from './embedded-tables.ts';

let provider: EmbeddingProvider;
let server: ContractServer;
let table: MadeTable;
before(async () => {
  provider = await EmbeddingProvider.start();
  server = await ContractServer.start({
    flags: [
      ...provider.flags(),
      '--embeddings-reply-bytes-max=4KiB',
      '--embeddings-calls-max=3',
      '--embeddings-calls-per-caller-max=2',
    ],
    env: provider.env,
  });
  table = await embeddedTable(server, MODEL);
});
after(async () => {
  await server.close();
  await provider.close();
});

let texts = 0;
/** A text that was never embedded. */
const newText = () => ({ vector_text: `a chair, ${(texts += 1)}` });

const unavailable = (detail: RegExp) => ({ status: 503, code: CODE.unavailable, detail });

async function whileAnswering(answer: EmbeddingProvider['answer'], work: () => Promise<void>): Promise<void> {
  provider.answer = answer;
  try {
    await work();
  } finally {
    provider.answer = answerWell;
  }
}

const REPLY_BODY = 'a secret of the provider';
const replies = (status: number, headers: Readonly<Record<string, string>> = {}) => {
  return (_call: ProviderCall, response: ServerResponse): void =>
    void response.writeHead(status, headers).end(REPLY_BODY);
};
const embeds = (embedding: unknown) => (_call: ProviderCall, response: ServerResponse) =>
  sendJson(response, 200, { data: [{ embedding }] });

suite('when the provider', () => {
  const cases: readonly (readonly [string, EmbeddingProvider['answer'], RegExp, string?])[] = [
    ['fails', replies(500), /refused the request \(status 500\)\. Try again later, or send a vector/, '5'],
    ['is overloaded', replies(429, { 'retry-after': '7' }), /status 429/, '7'],
    ['asks for an endless pause', replies(503, { 'retry-after': '999999' }), /status 503/, '60'],
    ['does not know the key', replies(401), /status 401\).*operator.*embeddings\.apiKey/, '30'],
    ['redirects', replies(307, { location: '/v1/other' }), /redirects, which is not followed \(status 307\)/, '30'],
    ['sends no JSON', replies(200), /cannot be used: it is not JSON/],
    ['sends another shape', (_call, response) => sendJson(response, 200, { vectors: [] }), /it has no list of numbers/],
    ['sends text for a vector', embeds('AACAPwAAAAA='), /it has no list of numbers/],
    ['sends nulls', embeds([1, null, 0, 0, 0, 0, 0, 0]), /one of its values is not a 32-bit float/],
    ['sends numbers beyond floats', embeds([1e300, 0, 0, 0, 0, 0, 0, 0]), /is not a 32-bit float/],
    ['sends a huge reply', embeds(Array.from({ length: 5000 }, () => 0.5)), /it is larger than 4096 bytes/],
    ['closes the connection', (_call, response) => void response.socket?.destroy(), /cannot be reached/, '5'],
  ];
  for (const [what, answer, detail, retryAfter] of cases) {
    test(`${what}, the search gets a 503 that says so, and nothing that the provider sent`, async () =>
      whileAnswering(answer, async () => {
        const refused = await search(server.admin, table, newText());
        assertRefused(refused, unavailable(detail));
        assert.ok(!refused.text.includes(REPLY_BODY) && !refused.text.includes(PROVIDER_KEY), refused.text);
        if (retryAfter !== undefined) assert.equal(refused.headers.get('retry-after'), retryAfter);
      }));
  }

  test('does not answer, the search gets a 503 that says so', async () => {
    const impatient = await ContractServer.start({ flags: provider.flags(0.2), env: provider.env });
    try {
      const made = await embeddedTable(impatient, MODEL);
      await whileAnswering(
        () => {},
        async () => {
          const refused = await search(impatient.admin, made, newText());
          assertRefused(refused, unavailable(/did not respond within 0\.2 s/));
          assert.equal(refused.headers.get('retry-after'), '5');
        },
      );
    } finally {
      await impatient.close();
    }
  });

  test('redirects, no request follows', async () =>
    whileAnswering(replies(302, { location: `${provider.url}/stolen` }), async () => {
      const calls = provider.calls.length;
      await search(server.admin, table, newText());
      assert.equal(provider.calls.length, calls + 1);
    }));

  test('refuses the text, the caller is told that it may be too long', async () =>
    whileAnswering(replies(400), async () => {
      assertRefused(
        await search(server.admin, table, newText()),
        badRequest(/status 400\)\. The text may be too long/),
      );
    }));

  test('has another number of dimensions, the caller is told both', async () =>
    whileAnswering(embeds(embed('x', 4)), async () => {
      const expected = badRequest(/gives vectors of 4 dimensions, and the column "vector" has 8/);
      assertRefused(await search(server.admin, table, newText()), expected);
    }));

  test('is away, cached texts and plain searches still work, and new texts when it is back', async () => {
    const known = newText();
    titlesOf(await search(server.admin, table, known));
    const { port } = provider;
    await provider.close();
    const vector = { single_vector: embed('a chair') };
    try {
      assertRefused(await search(server.admin, table, newText()), unavailable(/cannot be reached/));
      assert.equal(titlesOf(await search(server.admin, table, known)).length, 2);
      assert.equal(titlesOf(await search(server.admin, table, { vector })).length, 2);
    } finally {
      await provider.listen(port);
    }
    assert.equal(titlesOf(await search(server.admin, table, newText())).length, 2);
  });

  test('fails, nothing is cached, and the metrics count it by its reason', async () => {
    const text = newText();
    const failures = async (reason: string) =>
      (await ShownMetrics.read(server.url, ADMIN_KEY)).value('tiltyard_embedding_calls_total', { outcome: reason });
    const before_ = await failures('refused');
    await whileAnswering(replies(500), async () => void (await search(server.admin, table, text)));
    assert.equal(await failures('refused'), before_ + 1);
    assert.equal(titlesOf(await search(server.admin, table, text)).length, 2);
  });
});

suite('calls of the provider at once', () => {
  /** Holds every call until `release`. */
  async function whileHeld(
    work: (held: readonly ServerResponse[], release: () => void) => Promise<void>,
  ): Promise<void> {
    const held: [ProviderCall, ServerResponse][] = [];
    const release = (): void => held.splice(0).forEach(([call, response]) => answerWell(call, response));
    await whileAnswering(
      (call, response) => void held.push([call, response]),
      async () => {
        const responses = new Proxy([], { get: (_target, name) => Reflect.get(held, name) });
        await work(responses, release).finally(release);
      },
    );
  }

  test('are bounded for a caller, then for all, and others are refused at once', async () => {
    const [one, other] = [await server.caller('reader', [table.id]), await server.caller('reader', [table.id])];
    await whileHeld(async (held, release) => {
      const first = [search(one, table, newText()), search(one, table, newText())];
      await eventually(async () => held.length === 2);
      assertRefused(await search(one, table, newText()), unavailable(/^2 texts of this caller are being embedded\./));
      const second = search(other, table, newText());
      await eventually(async () => held.length === 3);
      const refused = await search(other, table, newText());
      assertRefused(refused, unavailable(/^3 texts are being embedded\. Send fewer at once\./));
      assert.equal(refused.headers.get('retry-after'), '1');
      release();
      for (const answer of await Promise.all([...first, second])) assert.equal(titlesOf(answer).length, 2);
    });
    assert.equal(titlesOf(await search(one, table, newText())).length, 2);
  });

  test('callers that want the same text share one call, which continues when one of them disconnects', async () => {
    const text = newText();
    const calls = provider.calls.length;
    await whileHeld(async (held, release) => {
      const leaves = new AbortController();
      const gone = fetch(`${server.url}${table.at}/query`, {
        method: 'POST',
        headers: { 'x-api-key': ADMIN_KEY, 'content-type': 'application/json' },
        body: JSON.stringify({ k: 1, ...text }),
        signal: leaves.signal,
      }).catch(() => undefined);
      await eventually(async () => held.length === 1);
      const others = [search(server.admin, table, text), search(server.admin, table, text)];
      leaves.abort();
      await gone;
      await eventually(
        async () =>
          (await ShownMetrics.read(server.url, ADMIN_KEY)).value('tiltyard_embedding_lookups_total', {
            outcome: 'shared',
          }) >= 2,
      );
      release();
      for (const answer of await Promise.all(others)) assert.equal(titlesOf(answer).length, 2);
    });
    assert.equal(provider.calls.length, calls + 1);
  });
});

test('the cache keeps no more than its bytes, and none when it is off', async () => {
  const small = await ContractServer.start({
    flags: [...provider.flags(), '--embeddings-cache-bytes=1KiB'],
    env: provider.env,
  });
  try {
    const made = await embeddedTable(small, MODEL);
    for (let round = 0; round < 10; round += 1) titlesOf(await search(small.admin, made, newText()));
    const metrics = await ShownMetrics.read(small.url, ADMIN_KEY);
    assert.equal(metrics.value('tiltyard_embedding_cache_entries'), 3);
    assert.ok(metrics.value('tiltyard_embedding_cache_bytes') <= 1024);
  } finally {
    await small.close();
  }
  const off = await ContractServer.start({
    flags: [...provider.flags(), '--embeddings-cache-bytes=0'],
    env: provider.env,
  });
  try {
    const made = await embeddedTable(off, MODEL);
    const calls = provider.calls.length;
    const text = newText();
    for (let round = 0; round < 2; round += 1) titlesOf(await search(off.admin, made, text));
    assert.equal(provider.calls.length, calls + 2);
  } finally {
    await off.close();
  }
});

test('neither the key nor a text nor a reply of the provider gets into the log, and failures do', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tiltyard-embeddings-'));
  const child = await startServerProcess(folder, [...provider.flags(), '--log-level=debug'], provider.env);
  try {
    const client = new Client(child.url);
    const stream = titleStream({ 'tiltyard.embedding.model': MODEL });
    await client.arrow('/v1/table/titles/create', stream);
    const at = '/v1/table/titles';
    titlesOf(await search(client, { at }, { vector_text: 'a private chair' }));
    await whileAnswering(replies(401), async () => {
      assert.equal((await search(client, { at }, { vector_text: 'a private lamp' })).status, 503);
    });
    await whileAnswering(
      (_call, response) => void response.socket?.destroy(),
      async () => {
        assert.equal((await search(client, { at }, { vector_text: 'a private boat' })).status, 503);
      },
    );
    await eventually(async () => child.log.filter(({ event }) => event === 'embedding-failed').length === 2);
    const [refused, unreachable] = child.log.filter(({ event }) => event === 'embedding-failed');
    assert.deepEqual([refused?.['level'], refused?.['reason'], refused?.['status']], ['warn', 'refused', 401]);
    assert.equal(unreachable?.['reason'], 'unreachable');
    assert.equal(child.log.filter(({ event }) => event === 'embedding-fetched').length, 1);
  } finally {
    await child.stop();
    await rm(folder, { recursive: true, force: true });
  }
  const log = JSON.stringify(child.log);
  for (const secret of [PROVIDER_KEY, 'private', REPLY_BODY]) assert.ok(!log.includes(secret), secret);
});
