import { DAY, GiB, HOUR, KiB, MiB, TiB, bytes, integer, seconds } from './number-spec.ts';

/** For programs that follow commits, for tools of the Model Context Protocol, and for the embedding provider. */
export const INTEGRATION_LIMITS = {
  events: {
    listenersMax: integer(1000, [0, 100_000], 'Maximum number of open event streams of this node.'),
    listenersPerCallerMax: integer(200, [0, 100_000], 'Maximum number of open event streams of one caller.'),
    heartbeatSeconds: seconds(15, [0.1, HOUR], 'Maximum time between two messages of an event stream.'),
    recheckSeconds: seconds(2, [0.1, HOUR], 'How long an event stream stays open after its credential is revoked.'),
    pollSeconds: seconds(0.25, [0.01, 60], 'How often the catalog is checked for commits of other nodes.'),
    bufferMax: integer(
      20_000,
      [10, 1_000_000],
      'Newest commits kept in memory; streams that are further behind read the catalog.',
    ),
  },
  webhooks: {
    perDatabaseMax: integer(100, [0, 10_000], 'Maximum number of webhooks of a database.'),
    runningMax: integer(16, [1, 1000], 'Maximum concurrent deliveries of this node.'),
    eventsMax: integer(100, [1, 10_000], 'Maximum number of events in one delivery.'),
    pollSeconds: seconds(1, [0.05, HOUR], 'How often webhooks check for commits of other nodes.'),
    timeoutSeconds: seconds(10, [0.1, 600], 'Timeout of a delivery.'),
    retrySecondsMax: seconds(
      300,
      [0.1, DAY],
      'Maximum pause between two attempts; it starts at 1 s and doubles each time.',
    ),
    disableSeconds: seconds(3 * DAY, [1, 365 * DAY], 'How long a webhook may fail before it is disabled.'),
  },
  mcp: {
    requestsMax: integer(64, [1, 10_000], 'Maximum concurrent requests to /mcp.'),
    requestBytesMax: bytes(4 * MiB, [KiB, GiB], 'Largest request to /mcp.'),
    rowsMax: integer(100, [1, 10_000], 'Maximum number of rows in the result of a tool.'),
    resultBytesMax: bytes(
      64 * KiB,
      [KiB, 16 * MiB],
      'Largest result of a tool; longer results are truncated, with a note.',
    ),
    readBytesMax: bytes(16 * MiB, [64 * KiB, GiB], 'Largest reply of an operation that a tool can process.'),
  },
  embeddings: {
    timeoutSeconds: seconds(10, [0.1, 600], 'Timeout of a call to the embedding provider.'),
    textCharactersMax: integer(8192, [1, 1_000_000], 'Longest text to search for by its embedding (vector_text).'),
    replyBytesMax: bytes(4 * MiB, [KiB, 64 * MiB], 'Largest reply of the embedding provider.'),
    callsMax: integer(
      8,
      [1, 10_000],
      'Concurrent calls to the embedding provider; each holds a slot of http.readsMax. More are refused.',
    ),
    callsPerCallerMax: integer(6, [1, 10_000], 'Concurrent calls to the embedding provider for one caller.'),
    cacheBytes: bytes(16 * MiB, [0, TiB], 'Memory for the embeddings of recent texts; 0: off.'),
  },
};

type ValuesOf<Group> = { readonly [Field in keyof Group]: number };

export type EventLimits = ValuesOf<(typeof INTEGRATION_LIMITS)['events']>;
export type WebhookLimits = ValuesOf<(typeof INTEGRATION_LIMITS)['webhooks']>;
export type McpLimits = ValuesOf<(typeof INTEGRATION_LIMITS)['mcp']>;
export type EmbeddingLimits = ValuesOf<(typeof INTEGRATION_LIMITS)['embeddings']>;
