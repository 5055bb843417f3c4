import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ServiceError } from '../../src/errors/service-error.ts';
import type { RequestFinished, TelemetryEvent } from '../../src/telemetry/events.ts';
import { createTelemetry } from '../../src/telemetry/telemetry.ts';
import type { Telemetry, TelemetryOptions } from '../../src/telemetry/telemetry.ts';

const REQUEST: RequestFinished = {
  kind: 'request-finished',
  requestId: 'r1',
  operation: 'table.update',
  method: 'POST',
  dialect: 'lance',
  route: '/v1/table/{id}/update',
  status: 200,
  milliseconds: 12.5,
  caller: 'key:ops',
  database: 'default',
  bytesIn: 10,
  bytesOut: 20,
  errorKind: undefined,
  cause: undefined,
};

const clock = (): number => Date.UTC(2025, 0, 2, 3, 4, 5, 678);

interface Recording {
  readonly telemetry: Telemetry;
  readonly text: () => string;
  readonly rows: () => Record<string, unknown>[];
}

function record(options: Partial<TelemetryOptions> & { readonly isTTY?: boolean } = {}): Recording {
  const parts: string[] = [];
  const stream = { write: (text: string) => parts.push(text), isTTY: options.isTTY ?? false };
  const telemetry = createTelemetry({ level: 'info', format: 'json', clock, ...options, stream });
  const text = (): string => parts.join('');
  const rows = (): Record<string, unknown>[] =>
    text()
      .split('\n')
      .filter((line) => line !== '')
      .map((line): Record<string, unknown> => JSON.parse(line));
  return { telemetry, text, rows };
}

test('writes a finished request as one JSON line', () => {
  const { telemetry, rows } = record();
  telemetry.emit(REQUEST);
  assert.deepEqual(rows(), [
    {
      level: 'info',
      time: '2025-01-02T03:04:05.678Z',
      event: 'request-finished',
      requestId: 'r1',
      operation: 'table.update',
      method: 'POST',
      dialect: 'lance',
      route: '/v1/table/{id}/update',
      status: 200,
      milliseconds: 12.5,
      caller: 'key:ops',
      database: 'default',
      bytesIn: 10,
      bytesOut: 20,
    },
  ]);
});

test('writes a finished request as one readable line', () => {
  const { telemetry, text } = record({ format: 'text' });
  telemetry.emit({ ...REQUEST, caller: 'a b', database: undefined });
  assert.equal(
    text(),
    '03:04:05.678 info  request finished  requestId=r1  operation=table.update  method=POST  dialect=lance  ' +
      'route=/v1/table/{id}/update  status=200  milliseconds=12.5  caller="a b"  bytesIn=10  bytesOut=20\n',
  );
});

test('rounds times to a thousandth', () => {
  const { telemetry, rows } = record();
  telemetry.emit({ ...REQUEST, milliseconds: 1.234_567_89 });
  assert.equal(rows()[0]?.['milliseconds'], 1.235);
});

test('chooses text on a terminal and JSON elsewhere', () => {
  const terminal = record({ format: 'auto', isTTY: true });
  const pipe = record({ format: 'auto', isTTY: false });
  for (const { telemetry } of [terminal, pipe]) telemetry.emit(REQUEST);
  assert.match(terminal.text(), /^03:04:05\.678 info/);
  assert.equal(pipe.rows().length, 1);
});

test('logs the cause of a failure with its stack, and every cause behind it', () => {
  const cause = new ServiceError('Internal', 'It failed.', { cause: new Error('disk is gone', { cause: 'EIO' }) });
  for (const [status, level] of [
    [500, 'error'],
    [503, 'warn'],
  ] as const) {
    const { telemetry, rows } = record();
    telemetry.emit({ ...REQUEST, status, errorKind: 'Internal', cause });
    const [row] = rows();
    assert.equal(row?.['level'], level);
    assert.equal(row?.['errorKind'], 'Internal');
    assert.match(JSON.stringify(row?.['details']), /It failed.*telemetry\.test.*disk is gone.*telemetry\.test.*EIO/);
  }
});

test('keeps the cause of a refusal out of the log', () => {
  const { telemetry, text, rows } = record({ level: 'debug' });
  telemetry.emit({ ...REQUEST, status: 400, errorKind: 'InvalidInput', cause: new Error('engine text') });
  assert.equal(rows()[0]?.['level'], 'info');
  assert.equal(rows()[0]?.['errorKind'], 'InvalidInput');
  assert.doesNotMatch(text(), /engine text/);
});

test('bounds causes that are long, endless or odd', () => {
  const ring = new Error('ring');
  ring.cause = ring;
  for (const cause of [ring, new Error('x'.repeat(1_000_000)), { secret: 'hidden' }, null, 5, Symbol('s')]) {
    const { telemetry, text } = record();
    telemetry.emit({ ...REQUEST, status: 500, cause });
    assert.ok(text().length < 50_000);
    assert.doesNotMatch(text(), /hidden/);
  }
});

test('leaves out what is below the level', () => {
  const events: TelemetryEvent[] = [
    { kind: 'unknown-fields-ignored', operation: 'a', names: ['x', 'y'] },
    { kind: 'listening', host: '127.0.0.1', port: 1, tls: false },
    { kind: 'key-set-failed', issuer: 'https://a.example.com', cause: new Error('away') },
    { kind: 'worker-stalled', pid: 1, seconds: 10 },
  ];
  const lines = { debug: 4, info: 3, warn: 2, error: 1 } as const;
  for (const format of ['json', 'text'] as const) {
    for (const level of ['debug', 'info', 'warn', 'error'] as const) {
      const { telemetry, text } = record({ level, format });
      for (const event of events) telemetry.emit(event);
      const heads = text()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('  '));
      assert.equal(heads.length, lines[level], `${format} ${level}`);
    }
  }
});

test('prints the reasons of a failed start one to a line', () => {
  const { telemetry, text } = record({ format: 'text', level: 'error' });
  telemetry.emit({ kind: 'start-failed', reasons: ['First reason.', 'Second reason.'] });
  assert.equal(text(), '03:04:05.678 error start failed\n    First reason.\n    Second reason.\n');
});

test('escapes what could forge lines, fields or terminal codes', () => {
  const { telemetry, text } = record({ format: 'text', level: 'debug' });
  telemetry.emit({
    kind: 'unknown-fields-ignored',
    operation: 'a',
    names: ['x\ny', 'z  status=200', '\u001b[2J\u202e'],
  });
  telemetry.emit({ kind: 'background-failed', task: 'sweep', cause: '\u001b[31mred\r' });
  assert.equal(text().split('\n').length, 4);
  assert.match(text(), /names="x\\ny, z {2}status=200, \\u001b\[2J\\u\{202e\}"\n/);
  assert.match(text(), /\n {4}\\u\{1b\}\[31mred\\u\{d\}\n/);
});
