import type { HttpClient, Reply } from '../http.ts';
import type { readRows } from '../rows.ts';

/** How often a request was applied; `torn` if only a part of it is visible, or a value that was never written. */
export type Applied = number | 'torn';

export type Headers = Readonly<Record<string, string>>;
export type Rows = Awaited<ReturnType<typeof readRows>>;

/** One kind of write, sent to a separate table. */
export interface FaultWrite {
  readonly name: string;
  /** Requests that are sent at the same time, each with a different body. */
  readonly members: number;
  /** Whether applying it twice shows, as with an increment or an inserted row. */
  readonly isRepeatable: boolean;
  prepare(client: HttpClient, table: string): Promise<void>;
  send(client: HttpClient, table: string, member: number, headers: Headers): Promise<Reply>;
  /** One result for each member. */
  read(client: HttpClient, table: string): Promise<readonly Applied[]>;
  /** For derived data: whether it equals its source after it was brought up to date again. */
  follows?(client: HttpClient, table: string): Promise<boolean>;
}
