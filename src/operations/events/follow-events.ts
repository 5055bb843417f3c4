import { Type } from 'typebox';
import { ServiceError } from '../../errors/service-error.ts';
import { isVisible } from '../../model/access.ts';
import { selectCommits } from '../../model/events/commit.ts';
import type { Commit, CommitFilter } from '../../model/events/commit.ts';
import { databaseNotFound } from '../../model/refusals.ts';
import { FollowEventsQuery } from '../../wire/history/events.ts';
import { mayRead, toTransaction } from '../history/transactions.ts';
import { defineDatabaseOperation } from '../operation.ts';
import type { DatabaseRequest } from '../operation.ts';
import type { Services } from '../services.ts';
import { readEventFilter, readEventId } from './event-filter.ts';

const EVENT_STREAM = 'text/event-stream';

export const followEvents = defineDatabaseOperation({
  id: 'follow_events',
  methods: ['GET'],
  path: '/v1/events',
  summary: 'Follow the committed writes that the caller may see, as server-sent events',
  permission: 'see',
  isEndless: true,
  query: FollowEventsQuery,
  replies: [
    { mediaType: EVENT_STREAM, shape: Type.String(), description: 'Events as they happen; the stream does not end.' },
  ],
  async run(request, services) {
    const { commitFeed } = services;
    const filter = readEventFilter(request);
    const cursor = readCursor(request);
    const leave = await commitFeed.listen(request.caller.id);
    try {
      const after = cursor ?? (await commitFeed.newest());
      const pieces = follow({ request, services, filter, after, leave });
      return { kind: 'stream', mediaType: EVENT_STREAM, pieces, isLive: true };
    } catch (error) {
      leave();
      throw error;
    }
  },
});

/** A client that reconnects automatically sends the id of the last event in the header. */
function readCursor(request: DatabaseRequest): string | undefined {
  const text = request.header('last-event-id') ?? request.query['cursor'];
  if (text === 'start') return '';
  return readEventId(text, 'Give the id of the last event that you received, or "start" for all events.');
}

interface Listener {
  readonly request: DatabaseRequest;
  readonly services: Services;
  readonly filter: CommitFilter;
  readonly after: string;
  readonly leave: () => void;
}

/** Errors that end a stream normally, with their status. */
const ENDINGS: Readonly<Partial<Record<ServiceError['kind'], number>>> = {
  Unauthenticated: 401,
  DatabaseNotFound: 404,
};

/** How long a client waits before it reconnects. */
const RETRY_MILLISECONDS = 1000;

/** An `id` without data moves the cursor of the client past events that it does not get. */
async function* follow({ request, services, filter, after: start, leave }: Listener): AsyncGenerator<Uint8Array> {
  const { commitFeed, limits } = services;
  const { heartbeatSeconds, recheckSeconds } = limits.events;
  const signal = request.signal();
  let { caller } = request;
  let after = start;
  let checkedAt = performance.now();
  let sentAt = checkedAt;
  try {
    yield encode(`retry: ${RETRY_MILLISECONDS}\n${toId(after)}\n`);
    while (!commitFeed.isClosed && !signal.aborted) {
      const now = performance.now();
      if (now - checkedAt >= recheckSeconds * 1000) {
        caller = (await request.reauthenticate?.()) ?? caller;
        await requireSameDatabase({ ...request, caller }, services);
        checkedAt = now;
      }
      const { records, position } = await commitFeed.read({ databaseId: request.database.id, after });
      const hasMoved = position !== after;
      after = position;
      const seen = { ...request, caller };
      const wanted = selectCommits(records, filter, (path) => mayRead(seen, path));
      const isSilent = performance.now() - sentAt >= heartbeatSeconds * 1000;
      if (wanted.length > 0) {
        const names = await services.catalog.callerNames(wanted.map((record) => record.caller));
        yield encode(wanted.map((record) => toFrame(seen, record, names)).join(''));
      } else if (isSilent) yield encode(`: heartbeat\n${toId(after)}\n`);
      if (wanted.length > 0 || isSilent) sentAt = performance.now();
      if (hasMoved) continue;
      await commitFeed.wait({ after, milliseconds: Math.min(heartbeatSeconds, recheckSeconds) * 1000, signal });
    }
  } catch (error) {
    const status = error instanceof ServiceError ? ENDINGS[error.kind] : undefined;
    if (!(error instanceof ServiceError) || status === undefined) throw error;
    yield encode(`event: refused\ndata: ${JSON.stringify({ error: error.message, status })}\n\n`);
  } finally {
    leave();
  }
}

/** Another database may have the name by now: the client follows that one after it reconnects. */
async function requireSameDatabase({ caller, database }: DatabaseRequest, { catalog }: Services): Promise<void> {
  const { id, name } = database;
  const found = await catalog.databases.find(name);
  if (found?.id !== id || !isVisible(caller, name, [])) throw databaseNotFound(name);
}

const encoder = new TextEncoder();

function encode(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Empty before the first commit of a catalog. */
function toId(cursor: string): string {
  return cursor === '' ? '' : `id: ${cursor}\n`;
}

/** Frames of records in memory, shared by all listeners. */
const frames = new WeakMap<Commit, string>();

function toFrame(request: DatabaseRequest, record: Commit, names: ReadonlyMap<string, string>): string {
  // Below a prefix, paths are shown differently.
  const isShared = request.prefix.length === 0;
  const known = isShared ? frames.get(record) : undefined;
  if (known !== undefined) return known;
  const data = { ...toTransaction(request, record, names), database: request.database.name };
  const frame = `id: ${record.id}\nevent: commit\ndata: ${JSON.stringify(data)}\n\n`;
  if (isShared) frames.set(record, frame);
  return frame;
}
