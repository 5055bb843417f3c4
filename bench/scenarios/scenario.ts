import type { RawConnection } from '../engine-side.ts';
import { BareClient, requestHead } from '../http-client.ts';
import type { Result } from '../measure.ts';
import { BENCH_KEY } from '../server-process.ts';

export interface Bench {
  readonly port: number;
  /** For a server that a scenario starts itself. */
  readonly flags: readonly string[];
  /** For files of the scenario. */
  readonly folder: string;
  readonly raw: RawConnection;
  /** Another connection to the folder of `raw`, with separate caches, like that of another program. */
  readonly openRaw: () => Promise<RawConnection>;
  /** A connection to a folder with the server's own tables. */
  readonly openRawAt: (folder: string) => Promise<RawConnection>;
  readonly report: (line: string) => void;
}

export type Scenario = (bench: Bench) => AsyncGenerator<Result>;

export async function openClients(port: number, count: number): Promise<readonly BareClient[]> {
  return Promise.all(Array.from({ length: count }, async () => BareClient.open(port)));
}

export async function uploadTable(client: BareClient, name: string, stream: readonly Buffer[]): Promise<void> {
  const length = stream.reduce((sum, part) => sum + part.length, 0);
  const path = `/v1/table/${name}/create`;
  const head = requestHead({ path, key: BENCH_KEY, type: 'application/vnd.apache.arrow.stream', length });
  expectSuccess(await client.send([head, ...stream]));
}

export function expectSuccess(status: number): void {
  if (status !== 200) throw new Error(`the server answered ${status}`);
}

/** The element for this worker; there is one per worker. */
export function pick<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new Error(`there is no element ${index}`);
  return item;
}
