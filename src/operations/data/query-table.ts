import { Type } from 'typebox';
import { writeDocument, writeLines } from '../../arrow/results/json-rows.ts';
import { frameAsFile, frameAsStream } from '../../arrow/results/result-framing.ts';
import type { ResultFiles } from '../../arrow/results/result-framing.ts';
import { CountRowsBody, QueryTableBody, RowsReply } from '../../wire/data.ts';
import { toContractQuery } from '../../wire/query-forms.ts';
import { defineTableOperation, json } from '../operation.ts';
import { toTableState } from '../shared/table-state.ts';
import { chooseMediaType } from './media-type.ts';
import { readQuery, readQueryTimeout, readSql } from './read-query.ts';
import { toFilterShape, toQueryShape, watchQuery } from './watch-query.ts';

const ARROW_FILE = 'application/vnd.apache.arrow.file';
const ARROW_STREAM = 'application/vnd.apache.arrow.stream';
const NDJSON = 'application/x-ndjson';
const OFFERED = [ARROW_FILE, ARROW_STREAM, 'application/json', NDJSON] as const;

const Bytes = Type.String({ format: 'binary' });

/** Tells the LanceDB client which version it has seen; from then on it asks for no older one. */
const VERSION_HEADER = 'x-lancedb-version';

export const queryTable = defineTableOperation({
  id: 'query_table',
  path: '/v1/table/:id/query',
  summary: 'Find rows by vector, full text and SQL filter',
  permission: 'read',
  body: { kind: 'json', shape: QueryTableBody, normalize: toContractQuery },
  replies: [
    { mediaType: ARROW_FILE, shape: Bytes, description: 'The rows as an Arrow IPC file.' },
    { mediaType: ARROW_STREAM, shape: Bytes, description: 'The rows as an Arrow IPC stream.' },
    json(RowsReply, 'The rows as one JSON document.'),
    { mediaType: NDJSON, shape: Type.String(), description: 'The rows as JSON objects, one per line.' },
  ],
  async run(request, services) {
    const mediaType = chooseMediaType(request.header('accept'), OFFERED);
    const query = readQuery(request.body, services.limits);
    const state = toTableState(request.table, request.body);
    const watched = { request, shape: () => toQueryShape(query), rerun: { state, query } };
    const rows = await watchQuery(watched, services, async () =>
      services.engine.rows.query(state, query, readQueryTimeout(request)),
    );
    const headers = { [VERSION_HEADER]: String(rows.version) };
    return { kind: 'stream', mediaType, pieces: toPieces(mediaType, rows), headers };
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

function toPieces(mediaType: string, rows: ResultFiles): AsyncIterable<Uint8Array> {
  switch (mediaType) {
    case ARROW_STREAM:
      return frameAsStream(rows);
    case 'application/json':
      return writeDocument(rows);
    case NDJSON:
      return writeLines(rows);
    default:
      return frameAsFile(rows);
  }
}
