import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readOtelVariables } from '../../../src/telemetry/traces/otel-settings.ts';

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };

test('nothing is sent unless an endpoint is named and the SDK is not disabled', () => {
  assert.equal(readOtelVariables({}), undefined);
  assert.equal(readOtelVariables({ OTEL_EXPORTER_OTLP_ENDPOINT: '' }), undefined);
  assert.equal(readOtelVariables({ ...ENDPOINT, OTEL_SDK_DISABLED: 'TRUE' }), undefined);
  assert.equal(readOtelVariables({ OTEL_SERVICE_NAME: 'tables' }), undefined);
});

test('each signal has its own endpoint and switch', () => {
  const signals = (variables: Readonly<Record<string, string>>) => {
    const { hasTraces, hasLogs } = readOtelVariables(variables) ?? {};
    return [hasTraces, hasLogs];
  };
  assert.deepEqual(signals(ENDPOINT), [true, true]);
  assert.deepEqual(signals({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http://a' }), [true, false]);
  assert.deepEqual(signals({ OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: 'http://a' }), [false, true]);
  assert.deepEqual(signals({ ...ENDPOINT, OTEL_LOGS_EXPORTER: 'none' }), [true, false]);
});

test('the sampler is one of the usual names', () => {
  const sampler = (name: string, argument = '0.25') =>
    readOtelVariables({ ...ENDPOINT, OTEL_TRACES_SAMPLER: name, OTEL_TRACES_SAMPLER_ARG: argument })?.sampler;
  assert.deepEqual(readOtelVariables(ENDPOINT)?.sampler, { ratio: 1, followsParent: true });
  assert.deepEqual(sampler('always_on'), { ratio: 1, followsParent: false });
  assert.deepEqual(sampler('parentbased_always_off'), { ratio: 0, followsParent: true });
  assert.deepEqual(sampler('traceidratio'), { ratio: 0.25, followsParent: false });
  assert.deepEqual(sampler('parentbased_traceidratio', '7'), { ratio: 1, followsParent: true });
});

test('queues are bounded, whatever the variables contain', () => {
  const settings = readOtelVariables({
    ...ENDPOINT,
    OTEL_BSP_MAX_QUEUE_SIZE: '1e12',
    OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '1e12',
    OTEL_BLRP_MAX_QUEUE_SIZE: 'many',
    OTEL_BLRP_SCHEDULE_DELAY: '0',
  });
  assert.equal(settings?.spans.maxQueueSize, 65_536);
  assert.equal(settings?.spans.maxExportBatchSize, 65_536);
  assert.equal(settings?.logs.maxQueueSize, 2048);
  assert.equal(settings?.logs.scheduledDelayMillis, 10);
});

test('a protocol that is not offered is reported', () => {
  const faults = readOtelVariables({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' })?.faults ?? [];
  assert.match(faults.join(''), /OTEL_EXPORTER_OTLP_PROTOCOL is grpc/);
  assert.deepEqual(readOtelVariables({ ...ENDPOINT, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' })?.faults, []);
});
