import type { HttpClient, Reply } from '../http.ts';
import type { readRows } from '../rows.ts';

/** How often a request was applied; `torn` when a part of it is visible, or a value that was never written. */
export type Applied = number | 'torn';

export type Headers = Readonly<Record<string, string>>;
export type Rows = Awaited<ReturnType<typeof readRows>>;

/** One kind of write, sent to a separate table. */
export interface FaultWrite {
  readonly name: string;
  /** Requests that are sent at the same time, each with its own words. */
  readonly members: number;
  /** Applied twice, it shows: an increment, a row. */
  readonly isRepeatable: boolean;
  prepare(client: HttpClient, table: string): Promise<void>;
  send(client: HttpClient, table: string, member: number, headers: Headers): Promise<Reply>;
  /** For each member. */
  read(client: HttpClient, table: string): Promise<readonly Applied[]>;
  /** Of derived data: brought up to date once more, does it equal what it is derived from? */
  follows?(client: HttpClient, table: string): Promise<boolean>;
}
