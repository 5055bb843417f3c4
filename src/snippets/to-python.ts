import { toPythonLiteral as literal } from './literals.ts';
import { INDEX_TYPES, indexOptions, isForLanceDb, plainCalls, vectorsOf } from './lance-query.ts';
import { addressOf, headersOf, variableOf } from './table-request.ts';
import type { TableOperation, TableRequest } from './table-request.ts';

/** Uses the LanceDB client if it sends the same request, otherwise `requests`. */
export function toPython(request: TableRequest): string {
  return isForLanceDb(request) ? toLanceDb(request) : toRequests(request);
}

function toLanceDb({ server, table, operation }: TableRequest): string {
  const name = table.at(-1) ?? '';
  const namespace = table.slice(0, -1);
  const opened = namespace.length === 0 ? literal(name) : `${literal(name)}, namespace_path=${literal(namespace)}`;
  return [
    'import os',
    '',
    'import lancedb',
    ...importsOf(operation),
    '',
    'db = lancedb.connect(',
    `    ${literal(`db://${server.database}`)},`,
    `    api_key=os.environ[${literal(variableOf(server))}],`,
    `    host_override=${literal(server.url)},`,
    ')',
    `table = db.open_table(${opened})`,
    ...toStatements(operation),
  ].join('\n');
}

function importsOf({ name, body }: TableOperation): readonly string[] {
  if (name === 'create_index') return [`from lancedb.index import ${INDEX_TYPES[body.index_type ?? '']?.python ?? ''}`];
  return name === 'query' && body.order_by !== undefined ? ['from lancedb.query import ColumnOrdering'] : [];
}

function toStatements(operation: TableOperation): readonly string[] {
  switch (operation.name) {
    case 'query': {
      const { version } = operation.body;
      return [
        ...(version === undefined ? [] : [`table.checkout(${version})`]),
        'rows = (',
        `    table.search(${searchArguments(operation.body)})`,
        ...queryCalls(operation.body).map((call) => `    ${call}`),
        '    .to_list()',
        ')',
        'print(rows)',
      ];
    }
    case 'update': {
      const { updates, predicate } = operation.body;
      return [
        'result = table.update(',
        ...(predicate === undefined ? [] : [`    where=${literal(predicate, '    ')},`]),
        `    values_sql=${literal(Object.fromEntries(updates), '    ')},`,
        ')',
        'print(result)',
      ];
    }
    case 'delete':
      return [`result = table.delete(${literal(operation.body.predicate)})`, 'print(result)'];
    case 'create_index': {
      const { column, index_type: type = '', name } = operation.body;
      const options = Object.entries(indexOptions(operation.body)).map(([key, value]) => `${key}=${literal(value)}`);
      return [
        'table.create_index(',
        `    ${literal(column)},`,
        `    config=${INDEX_TYPES[type]?.python ?? ''}(${options.join(', ')}),`,
        ...(name === undefined ? [] : [`    name=${literal(name)},`]),
        ')',
      ];
    }
  }
}

type QueryBody = Extract<TableOperation, { name: 'query' }>['body'];

function searchArguments(body: QueryBody): string {
  const vectors = vectorsOf(body);
  const text = body.full_text_query?.string_query;
  if (text !== undefined) {
    const [column] = text.columns ?? [];
    const columns = column === undefined ? '' : `, fts_columns=${literal(column)}`;
    return `${literal(text.query)}, query_type="fts"${columns}`;
  }
  if (vectors.length === 0) return '';
  const column = body.vector_column === undefined ? '' : `, vector_column_name=${literal(body.vector_column)}`;
  return `${literal(vectors.length === 1 ? vectors[0] : vectors, '    ')}${column}`;
}

function queryCalls(body: QueryBody): readonly string[] {
  const { filter, order_by: order } = body;
  const before = vectorsOf(body).length > 0 && body.prefilter === false ? ', prefilter=False' : '';
  return [
    ...(filter === undefined ? [] : [`.where(${literal(filter)}${before})`]),
    ...plainCalls(body).map(([name, values]) => `.${name}(${values.map((each) => literal(each, '    ')).join(', ')})`),
    ...(order === undefined ? [] : [`.order_by([${order.map(toOrdering).join(', ')}])`]),
    ...(body.with_row_id === true ? ['.with_row_id(True)'] : []),
  ];
}

function toOrdering(order: NonNullable<QueryBody['order_by']>[number]): string {
  const { column_name: column, ascending = true, nulls_first: nullsFirst = false } = order;
  const fields = { column_name: column, ascending, nulls_first: nullsFirst };
  const values = Object.entries(fields).map(([name, value]) => `${name}=${literal(value)}`);
  return `ColumnOrdering(${values.join(', ')})`;
}

function toRequests(request: TableRequest): string {
  const { server, operation } = request;
  const secret = `os.environ[${literal(variableOf(server))}]`;
  const credential = server.credential === 'key' ? `"x-api-key": ${secret}` : `"authorization": "Bearer " + ${secret}`;
  return [
    'import os',
    '',
    'import requests',
    '',
    'response = requests.post(',
    `    ${literal(addressOf(request))},`,
    '    headers={',
    `        ${credential},`,
    ...Object.entries(headersOf(request)).map(([name, value]) => `        ${literal(name)}: ${literal(value)},`),
    '    },',
    `    json=${literal(operation.body, '    ')},`,
    ')',
    'if not response.ok:',
    '    raise SystemExit(response.text)',
    operation.name === 'query' ? 'rows = response.json()["rows"]' : 'result = response.json()',
    operation.name === 'query' ? 'print(rows)' : 'print(result)',
  ].join('\n');
}
