import { BENCH_KEY } from './server-process.ts';

/** The server's counters since its start. */
export interface ServerCounters {
  readonly catalogCommits: number;
  readonly tableSyncs: number;
  readonly catalogSyncs: number;
}

export async function readCounters(port: number): Promise<ServerCounters> {
  const text = await (await get(port, '/metrics')).text();
  return {
    catalogCommits: readMetric(text, 'tiltyard_catalog_transactions_total'),
    tableSyncs: readMetric(text, 'tiltyard_syncs_total{of="tables"}'),
    catalogSyncs: readMetric(text, 'tiltyard_syncs_total{of="catalog"}'),
  };
}

export async function readFragments(port: number, table: string): Promise<number> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The reply of the operation, as it is described.
  const stats = (await (await get(port, `/v1/table/${table}/stats`)).json()) as {
    readonly fragment_stats: { readonly num_fragments: number };
  };
  return stats.fragment_stats.num_fragments;
}

async function get(port: number, path: string): Promise<Response> {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'x-api-key': BENCH_KEY } });
  if (!response.ok) throw new Error(`the server answered ${path} with ${response.status}`);
  return response;
}

function readMetric(text: string, name: string): number {
  const line = text.split('\n').find((each) => each.startsWith(`${name} `));
  if (line === undefined) throw new Error(`the server has no metric ${name}`);
  return Number(line.slice(name.length + 1));
}
