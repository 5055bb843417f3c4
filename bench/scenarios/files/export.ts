import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { Float64, Int32, Table, Utf8, tableToIPC, vectorFromArray } from 'apache-arrow';
import { toComparison } from '../../measure.ts';
import type { Result } from '../../measure.ts';
import { BENCH_KEY } from '../../server-process.ts';
import { queryRequest } from '../reads/searches.ts';
import { expectSuccess, openClients, pick, uploadTable } from '../scenario.ts';
import type { Bench } from '../scenario.ts';

const run = promisify(execFile);
const ROWS = 4_000_000;
const ROUNDS = 3;
const NAME = 'export';

/** The whole command, including its start, relative to a client that reads the same rows and drops them. */
export async function* measureExport(bench: Bench): AsyncGenerator<Result> {
  const ids = Array.from({ length: ROWS }, (_unused, row) => row);
  const names = ids.map((id) => `name${id % 1000}`);
  const table = new Table({
    id: vectorFromArray(ids, new Int32()),
    name: vectorFromArray(names, new Utf8()),
    price: vectorFromArray(ids, new Float64()),
  });
  const stream = Buffer.from(tableToIPC(table, 'stream'));
  const uploader = pick(await openClients(bench.port, 1), 0);
  await uploadTable(uploader, NAME, [stream]);
  uploader.close();
  const [http, engine]: [number[], number[]] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    http.push(ROWS / (await measureSeconds(async () => exportRows(bench))));
    engine.push(ROWS / (await measureSeconds(async () => readRows(bench))));
  }
  const name = `export of ${ROWS.toLocaleString('en')} short rows, rows a second relative to reading them`;
  yield toComparison({ name, goal: 0.25, http, engine });
}

async function exportRows({ port, folder }: Bench): Promise<void> {
  const main = fileURLToPath(new URL('../../../bundle/main.js', import.meta.url));
  const words = ['export', NAME, join(folder, 'export.arrows'), '--force', '--server', `http://127.0.0.1:${port}`];
  const { stdout } = await run(process.execPath, [main, ...words, '--key', BENCH_KEY, '--json']);
  const { rows }: { rows: number } = JSON.parse(stdout);
  if (rows !== ROWS) throw new Error(`${rows} rows were exported`);
}

async function readRows({ port }: Bench): Promise<void> {
  const client = pick(await openClients(port, 1), 0);
  expectSuccess(await client.send(queryRequest(NAME, {})));
  client.close();
}

async function measureSeconds(work: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await work();
  return (performance.now() - startedAt) / 1000;
}
