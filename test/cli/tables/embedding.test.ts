import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { titleStream } from '../../contract/embeddings/embedded-tables.ts';
import { Client } from '../../support/client.ts';
import { EmbeddingProvider, MODEL, PROVIDER_KEY } from '../../support/embedding-provider.ts';
import { runCliOn } from '../../support/run-cli.ts';
import { startServer } from '../../support/server.ts';
import type { TestServer } from '../../support/server.ts';

let provider: EmbeddingProvider;
let server: TestServer;
before(async () => {
  provider = await EmbeddingProvider.start();
  server = await startServer({ flags: provider.flags(), env: provider.env });
  await new Client(server.url).arrow('/v1/table/titles/create', titleStream());
});
after(async () => {
  await server.close();
  await provider.close();
});

const run = async (...argv: readonly string[]) => runCliOn(server.url, argv);
const query = async (...argv: readonly string[]) => run('query', 'titles', '--select', 'title', '-k', '2', ...argv);

test('a query by meaning says how to record the model, and finds rows once it is recorded', async () => {
  const refused = await query('--meaning', 'something to sit on');
  assert.equal(refused.code, 1);
  assert.match(refused.err, /No model is recorded for the vectors of "vector".*tiltyard column embedding/s);

  const recorded = await run('column', 'embedding', 'titles', 'vector', '--model', MODEL, '--source', 'title');
  assert.equal(recorded.code, 0, recorded.err);
  assert.match(recorded.out, /^Recorded the model concepts-8 for vector of titles, version 2\.\n$/);
  assert.equal(recorded.err, '');

  const found = await query('--meaning', 'something to sit on');
  assert.equal(found.code, 0, found.err);
  assert.match(found.out, /comfortable chair/);
  assert.match(found.out, /wooden stool/);
  const plan = await run('plan', 'titles', '--meaning', 'something to sit on');
  assert.equal(plan.code, 0, plan.err);
  assert.match(plan.out, /KNNVectorDistance/);
});

test('a model that the server does not offer is recorded, with a note', async () => {
  const { code, out, err } = await run('column', 'embedding', 'titles', 'vector', '--model', 'other');
  assert.equal(code, 0);
  assert.match(out, /^Recorded the model other for vector/);
  assert.match(err, /does not offer other.*It offers concepts-8, concepts-4, retired\./);
  const refused = await query('--meaning', 'a chair');
  assert.equal(refused.code, 1);
  assert.match(refused.err, /with the model "other", which this server does not offer/);
});

test('what is recorded is replaced as a whole, and removed', async () => {
  const metadata = async () => {
    const { json } = await new Client(server.url).post('/v1/table/titles/describe', {});
    return json.schema.fields.find(({ name }: { name: string }) => name === 'vector').metadata;
  };
  await run(
    'column',
    'embedding',
    'titles',
    'vector',
    '--model',
    MODEL,
    '--query-prefix',
    'query: ',
    '--dimensions',
    '8',
  );
  assert.deepEqual(await metadata(), {
    'tiltyard.embedding.model': MODEL,
    'tiltyard.embedding.query_prefix': 'query: ',
    'tiltyard.embedding.dimensions': '8',
  });
  const { out } = await run('column', 'embedding', 'titles', 'vector', '--remove');
  assert.match(out, /^Removed the model of vector of titles, version \d+\.\n$/);
  assert.equal(await metadata(), undefined);
});

test('wrong uses name what would be right', async () => {
  const cases = [
    [['column', 'embedding', 'titles', 'vector'], /Give --model NAME, or --remove\./],
    [['column', 'embedding', 'titles', 'vector', '--remove', '--source', 'title'], /need --model/],
    [['column', 'embedding', 'titles', 'title', '--model', MODEL], /no vector column title\. It has vector\./],
    [['column', 'embedding', 'titles', 'vector', '--model', MODEL, '--source', 'text'], /It has id, title, vector\./],
    [['query', 'titles', '--meaning', 'a', '--vector', '[1]'], /Give only one of --vector, --like and --meaning\./],
  ] as const;
  for (const [argv, message] of cases) {
    const { code, err } = await run(...argv);
    assert.equal(code, 2, err);
    assert.match(err, message);
  }
});

test('the key of the provider is never shown', async () => {
  const env = { ...provider.env, TILTYARD_EMBEDDINGS_MODELS: MODEL, TILTYARD_EMBEDDINGS_URL: provider.url };
  const { code, out, err } = await runCliOn(server.url, ['config'], { env });
  assert.equal(code, 0, err);
  assert.match(out, /embeddings\.apiKey +\(set\)/);
  assert.ok(!out.includes(PROVIDER_KEY));
});
