import { Type } from 'typebox';
import { jsonDocument, jsonLines } from '../../arrow/results/json-pieces.ts';
import { arrowFile, arrowStream, frame, frameWhole, isRead } from '../../arrow/results/result-framing.ts';
import type { Framing, ResultFiles } from '../../arrow/results/result-framing.ts';
import { CountRowsBody, QueryTableBody, RowsReply } from '../../wire/data.ts';
import { toContractSearch } from '../../wire/query-forms.ts';
import { defineTableOperation, json } from '../operation.ts';
import { toTableState } from '../shared/table-state.ts';
import { embedQuery } from '../embeddings/embed-query.ts';
import { VERSION_HEADER, replyToQuery } from './cached-query.ts';
import { chooseMediaType } from './media-type.ts';
import { readQuery, readQueryTimeout, readSql } from './read-query.ts';
import { isTunable, tuneQuery } from './tuned-query.ts';
import { toFilterShape, toQueryShape, watchQuery } from './watch-query.ts';

const ARROW_FILE = 'application/vnd.apache.arrow.file';
const ARROW_STREAM = 'application/vnd.apache.arrow.stream';
const NDJSON = 'application/x-ndjson';
const OFFERED = [ARROW_FILE, ARROW_STREAM, 'application/json', NDJSON] as const;

const Bytes = Type.String({ format: 'binary' });

export const queryTable = defineTableOperation({
  id: 'query_table',
  path: '/v1/table/:id/query',
  summary: 'Search by vector, full text and SQL filter',
  permission: 'read',
  body: { kind: 'json', shape: QueryTableBody, normalize: toContractSearch },
  replies: [
    { mediaType: ARROW_FILE, shape: Bytes, description: 'The rows as an Arrow IPC file.' },
    { mediaType: ARROW_STREAM, shape: Bytes, description: 'The rows as an Arrow IPC stream.' },
    json(RowsReply, 'The rows as one JSON document.'),
    { mediaType: NDJSON, shape: Type.String(), description: 'The rows as JSON objects, one per line.' },
  ],
  async run(request, services) {
    const mediaType = chooseMediaType(request.header('accept'), OFFERED);
    const { table } = request;
    const { vector_text: text } = request.body;
    const read = readQuery(request.body, services.limits);
    const state = toTableState(table, request.body);
    const timeout = () => readQueryTimeout(request);
    const given =
      text === undefined ? read : await embedQuery({ text, state, query: read, timeout: timeout() }, services);
    // All choices of the server are made here, so that the executed query is the key of its cached result.
    const query = isTunable(given, table)
      ? await tuneQuery({ table, state, query: given, timeout: timeout() }, services)
      : given;
    const watched = { request, shape: () => toQueryShape(query), rerun: { state, query } };
    const execute = async () =>
      watchQuery(watched, services, async () => services.engine.rows.query(state, query, timeout()));
    return replyToQuery(request, { state, query, mediaType }, services, {
      execute,
      frame: (rows) => frameRows(mediaType, rows),
    });
  },
});

export const countRows = defineTableOperation({
  id: 'count_table_rows',
  methods: ['POST', 'GET'],
  path: '/v1/table/:id/count_rows',
  summary: 'Count rows',
  permission: 'read',
  body: { kind: 'json', shape: CountRowsBody },
  replies: [json(Type.Integer({ minimum: 0 }), 'The number of rows.')],
  async run(request, services) {
    const { body, table } = request;
    const predicate = readSql('predicate', body.predicate, services.limits.sql);
    const watched = { request, shape: () => toFilterShape(predicate) };
    const { rows, version } = await watchQuery(watched, services, async () =>
      services.engine.rows.count(toTableState(table, body), predicate, readQueryTimeout(request)),
    );
    return { kind: 'value', value: rows, headers: { [VERSION_HEADER]: String(version) } };
  },
});

function frameRows(mediaType: string, { head, files }: ResultFiles) {
  const framing = toFraming(mediaType);
  return isRead(files)
    ? ({ kind: 'bytes', mediaType, bytes: frameWhole(framing, head, files) } as const)
    : ({ kind: 'stream', mediaType, pieces: frame(framing, { head, files }) } as const);
}

function toFraming(mediaType: string): Framing {
  switch (mediaType) {
    case ARROW_STREAM:
      return arrowStream();
    case 'application/json':
      return jsonDocument();
    case NDJSON:
      return jsonLines();
    default:
      return arrowFile();
  }
}
