import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string; readonly intValue?: number | string };
}

export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly status: { readonly code?: number };
  readonly attributes: readonly Attribute[];
}

export interface ReceivedLog {
  readonly traceId?: string;
  readonly spanId?: string;
  readonly severityText: string;
  readonly body: { readonly stringValue: string };
  readonly attributes: readonly Attribute[];
}

interface Resource {
  readonly resource: { readonly attributes: readonly Attribute[] };
}

interface Payload {
  readonly resourceSpans?: readonly (Resource & { scopeSpans: readonly { spans: readonly ReceivedSpan[] }[] })[];
  readonly resourceLogs?: readonly (Resource & { scopeLogs: readonly { logRecords: readonly ReceivedLog[] }[] })[];
}

export interface Collector {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  readonly logs: ReceivedLog[];
  readonly resources: Readonly<Record<string, unknown>>[];
  /** Resolves when the condition holds; it is looked at after every delivery. */
  until(holds: () => boolean): Promise<void>;
  close(): void;
}

/** A collector that takes OTLP over HTTP, as JSON. */
export async function startCollector(): Promise<Collector> {
  const [spans, logs, resources]: [ReceivedSpan[], ReceivedLog[], Readonly<Record<string, unknown>>[]] = [[], [], []];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const payload = JSON.parse(Buffer.concat(parts).toString()) as Payload;
      for (const each of [...(payload.resourceSpans ?? []), ...(payload.resourceLogs ?? [])]) {
        resources.push(toObject(each.resource.attributes));
      }
      spans.push(...(payload.resourceSpans ?? []).flatMap((each) => each.scopeSpans.flatMap((scope) => scope.spans)));
      logs.push(...(payload.resourceLogs ?? []).flatMap((each) => each.scopeLogs.flatMap((scope) => scope.logRecords)));
      response.setHeader('content-type', 'application/json').end('{}');
      for (const look of waiting) look();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    spans,
    logs,
    resources,
    until: async (holds) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (!holds()) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

export function toObject(attributes: readonly Attribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? Number(value.intValue)]));
}
