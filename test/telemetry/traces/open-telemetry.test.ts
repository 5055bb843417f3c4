import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { sampleStream } from '../../support/arrow-tables.ts';
import { Client } from '../../support/client.ts';
import { startServerProcess } from '../../support/server-process.ts';
import type { ServerProcess } from '../../support/server-process.ts';
import { makeFolder } from '../../support/temporary-folder.ts';
import { startCollector, toObject } from './collector.ts';
import type { Collector, ReceivedSpan } from './collector.ts';

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';

let collector: Collector;
let folder: string;
let server: ServerProcess;
let client: Client;

before(async () => {
  collector = await startCollector();
  folder = await mkdtemp(join(tmpdir(), 'tiltyard-otel-'));
  server = await startServerProcess(folder, [], {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    OTEL_BSP_SCHEDULE_DELAY: '50',
    OTEL_BLRP_SCHEDULE_DELAY: '50',
  });
  client = new Client(server.url);
  await client.arrow('/v1/table/traced/create', sampleStream());
});

after(async () => {
  await server.stop();
  collector.close();
  await rm(folder, { recursive: true, force: true });
});

async function spanOf(requestId: string): Promise<ReceivedSpan> {
  const find = (): ReceivedSpan | undefined =>
    collector.spans.find(({ attributes }) => toObject(attributes)['tiltyard.request_id'] === requestId);
  await collector.until(() => find() !== undefined);
  const found = find();
  assert.ok(found);
  return found;
}

test('a request is a span in the trace of its caller, with the attributes of HTTP', async () => {
  const headers = { 'x-request-id': 'traced-1', traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'a=b' };
  const answer = await client.post('/v1/table/traced/query', { k: 2 }, headers);
  assert.equal(answer.status, 200, answer.text);
  const span = await spanOf('traced-1');
  assert.deepEqual([span.traceId, span.parentSpanId, span.kind], [TRACE, PARENT, 2]);
  assert.equal(span.name, 'POST /v1/table/{id}/query');
  const attributes = toObject(span.attributes);
  assert.equal(attributes['http.request.method'], 'POST');
  assert.equal(attributes['http.route'], '/v1/table/{id}/query');
  assert.equal(attributes['http.response.status_code'], 200);
  assert.equal(attributes['tiltyard.operation'], 'query_table');
  assert.equal(answer.headers.get('traceresponse'), `00-${TRACE}-${span.spanId}-01`);
  assert.ok(BigInt(span.endTimeUnixNano) > BigInt(span.startTimeUnixNano));
});

test('the calls of the engine are spans below it', async () => {
  await client.post('/v1/table/traced/count_rows', {}, { 'x-request-id': 'traced-2' });
  const span = await spanOf('traced-2');
  const below = collector.spans.filter(({ parentSpanId }) => parentSpanId === span.spanId);
  assert.deepEqual(
    below.map(({ name, traceId }) => [name, traceId]),
    [['engine rows.count', span.traceId]],
  );
});

test('a caller that does not want its trace recorded has none', async () => {
  const unsampled = { 'x-request-id': 'unsampled', traceparent: `00-${TRACE}-${PARENT}-00` };
  await client.post('/v1/table/traced/count_rows', {}, unsampled);
  await client.post('/v1/table/traced/count_rows', {}, { 'x-request-id': 'traced-3' });
  await spanOf('traced-3');
  assert.ok(!collector.spans.some(({ attributes }) => toObject(attributes)['tiltyard.request_id'] === 'unsampled'));
});

test('a malformed traceparent begins a new trace, and an address without a route is a span as well', async () => {
  await client.get('/v1/nothing/here', { 'x-request-id': 'traced-4', traceparent: `00-${TRACE}-${PARENT}` });
  const span = await spanOf('traced-4');
  assert.notEqual(span.traceId, TRACE);
  assert.equal(span.name, 'GET');
  assert.equal(toObject(span.attributes)['error.type'], 'RouteNotFound');
});

test('the lines of the log arrive as records, with the request id and the trace that they belong to', async () => {
  const headers = { 'x-request-id': 'traced-5', traceparent: `00-${TRACE}-${PARENT}-01` };
  await client.post('/v1/table/traced/describe', {}, headers);
  const find = () => collector.logs.find(({ attributes }) => toObject(attributes)['requestId'] === 'traced-5');
  await collector.until(() => find() !== undefined);
  const record = find();
  assert.equal(record?.traceId, TRACE);
  assert.equal(record?.spanId, (await spanOf('traced-5')).spanId);
  assert.deepEqual([record?.severityText, record?.body.stringValue], ['info', 'request-finished']);
});

test('the service names itself, its release and what OTEL_RESOURCE_ATTRIBUTES adds', () => {
  const [resource] = collector.resources;
  assert.equal(resource?.['service.name'], 'tiltyard');
  assert.match(String(resource?.['service.version']), /^\d+\.\d+/);
  assert.equal(resource?.['deployment.environment.name'], 'test');
});

test('sends what is left at shutdown, which a collector that is away does not block', async (t) => {
  const other = await makeFolder(t);
  const late = { OTEL_BSP_SCHEDULE_DELAY: '60000', OTEL_BLRP_SCHEDULE_DELAY: '60000' };
  const ended = await startServerProcess(other, [], { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, ...late });
  await new Client(ended.url).get('/v1/tables', { 'x-request-id': 'at-the-end' });
  assert.equal(await ended.stop(), 0);
  assert.ok(await spanOf('at-the-end'));
  const alone = await startServerProcess(other, [], { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', ...late });
  await new Client(alone.url).get('/v1/tables');
  assert.equal(await alone.stop(), 0);
});

test('without the variables nothing is traced, and no reply carries a trace', async (t) => {
  const other = await makeFolder(t);
  const plain = await startServerProcess(other, [], { OTEL_EXPORTER_OTLP_ENDPOINT: '' });
  const answer = await new Client(plain.url).get('/v1/tables', { traceparent: `00-${TRACE}-${PARENT}-01` });
  assert.deepEqual([answer.status, answer.headers.get('traceresponse')], [200, null]);
  await plain.stop();
});
