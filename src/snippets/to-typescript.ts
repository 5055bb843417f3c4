import { toTypeScriptLiteral as literal } from './literals.ts';
import { INDEX_TYPES, indexOptions, isForLanceDb, plainCalls, vectorsOf } from './lance-query.ts';
import { addressOf, headersOf, variableOf } from './table-request.ts';
import type { TableOperation, TableRequest } from './table-request.ts';

/** Uses the LanceDB client if it sends the same request, otherwise `fetch`. */
export function toTypeScript(request: TableRequest): string {
  return isForLanceDb(request) ? toLanceDb(request) : toFetch(request);
}

function toLanceDb({ server, table, operation }: TableRequest): string {
  const name = table.at(-1) ?? '';
  const namespace = table.slice(0, -1);
  const opened = namespace.length === 0 ? literal(name) : `${literal(name)}, ${literal(namespace)}`;
  return [
    "import * as lancedb from '@lancedb/lancedb';",
    '',
    `const db = await lancedb.connect(${literal(`db://${server.database}`)}, {`,
    `  apiKey: process.env.${variableOf(server)},`,
    `  hostOverride: ${literal(server.url)},`,
    '});',
    `const table = await db.openTable(${opened});`,
    ...toStatements(operation),
  ].join('\n');
}

function toStatements(operation: TableOperation): readonly string[] {
  switch (operation.name) {
    case 'query': {
      const { version } = operation.body;
      return [
        ...(version === undefined ? [] : [`await table.checkout(${version});`]),
        'const rows = await table',
        ...queryCalls(operation.body).map(([method, values]) => `  .${method}(${toArguments(values)})`),
        '  .toArray();',
        'console.log(rows);',
      ];
    }
    case 'update': {
      const { updates, predicate } = operation.body;
      const entries = updates.map((pair) => `    ${literal(pair)},`);
      return [
        'const result = await table.update({',
        '  valuesSql: new Map([',
        ...entries,
        '  ]),',
        ...(predicate === undefined ? [] : [`  where: ${literal(predicate)},`]),
        '});',
        'console.log(result);',
      ];
    }
    case 'delete':
      return [`const result = await table.delete(${literal(operation.body.predicate)});`, 'console.log(result);'];
    case 'create_index': {
      const { column, index_type: type = '', name } = operation.body;
      const options = Object.entries(indexOptions(operation.body)).map(([key, value]) => [toCamel(key), value]);
      const given = options.length === 0 ? '' : literal(Object.fromEntries(options), '  ');
      return [
        `await table.createIndex(${literal(column)}, {`,
        `  config: lancedb.Index.${INDEX_TYPES[type]?.typescript ?? ''}(${given}),`,
        ...(name === undefined ? [] : [`  name: ${literal(name)},`]),
        '});',
      ];
    }
  }
}

type QueryBody = Extract<TableOperation, { name: 'query' }>['body'];
type MethodCall = readonly [string, readonly unknown[]];

function queryCalls(body: QueryBody): readonly MethodCall[] {
  const [first, ...others] = vectorsOf(body);
  const text = body.full_text_query?.string_query;
  const { filter, order_by: order, vector_column: column } = body;
  const isVector = first !== undefined;
  const calls: readonly (MethodCall | undefined)[] = [
    ['query', []],
    text && ['fullTextSearch', [text.query, ...(text.columns === undefined ? [] : [{ columns: text.columns }])]],
    first && ['nearestTo', [first]],
    ...others.map((vector): MethodCall => ['addQueryVector', [vector]]),
    isVector && column !== undefined ? ['column', [column]] : undefined,
    filter === undefined ? undefined : ['where', [filter]],
    isVector && body.prefilter === false ? ['postfilter', []] : undefined,
    ...plainCalls(body).map(([name, values]): MethodCall => [toCamel(name), values]),
    order && ['orderBy', [order.map(toOrdering)]],
    body.with_row_id === true ? ['withRowId', []] : undefined,
  ];
  return calls.filter((call) => call !== undefined);
}

function toOrdering(order: NonNullable<QueryBody['order_by']>[number]): object {
  const { column_name: columnName, ascending = true, nulls_first: nullsFirst = false } = order;
  return { columnName, ascending, nullsFirst };
}

function toArguments(values: readonly unknown[]): string {
  return values.map((value) => literal(value, '  ')).join(', ');
}

function toCamel(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_all, letter: string) => letter.toUpperCase());
}

function toFetch(request: TableRequest): string {
  const { server, operation } = request;
  const secret = `process.env.${variableOf(server)}`;
  const credential =
    server.credential === 'key' ? `'x-api-key': ${secret} ?? ''` : `authorization: \`Bearer \${${secret}}\``;
  return [
    `const response = await fetch(${literal(addressOf(request))}, {`,
    "  method: 'POST',",
    '  headers: {',
    `    ${credential},`,
    ...Object.entries(headersOf(request)).map(([name, value]) => `    ${literal(name)}: ${literal(value)},`),
    '  },',
    `  body: JSON.stringify(${literal(operation.body, '  ')}),`,
    '});',
    'if (!response.ok) throw new Error(await response.text());',
    operation.name === 'query' ? 'const { rows } = await response.json();' : 'const result = await response.json();',
    operation.name === 'query' ? 'console.log(rows);' : 'console.log(result);',
  ].join('\n');
}
