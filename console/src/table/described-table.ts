import type { ApiClient } from '../../../src/client/api-client.ts';
import { listBranches, listTags } from '../../../src/client/history.ts';
import { describeTable } from '../../../src/client/tables.ts';
import type { TablePath } from '../../../src/model/identifier.ts';
import type { BranchShape, TagShape } from '../../../src/wire/history/refs.ts';
import type { SchemaJson } from '../../../src/wire/schema/schema-json.ts';
import type { AskedAt, At } from '../links.ts';

/** A table at a version, with its tags and branches. */
export interface DescribedTable {
  readonly path: TablePath;
  /** Unique: a table that is created again under the same name has another location. */
  readonly location: string;
  readonly at: At;
  readonly version: number;
  readonly schema: SchemaJson;
  readonly properties: Readonly<Record<string, string>>;
  readonly isDeclared: boolean;
  readonly tags: Readonly<Record<string, TagShape>>;
  readonly branches: Readonly<Record<string, BranchShape>>;
}

export interface TabProps {
  readonly table: DescribedTable;
  readonly query: URLSearchParams;
  readonly onChanged: () => void;
}

export async function readTable(client: ApiClient, path: TablePath, asked: AskedAt): Promise<DescribedTable> {
  const at = await findAt(client, path, asked);
  const described = await describeTable(client, path, at);
  const isDeclared = described.is_only_declared === true;
  const [tags, branches] = isDeclared
    ? [{}, {}]
    : await Promise.all([listTags(client, path), listBranches(client, path)]);
  return {
    path,
    location: described.location,
    at,
    version: described.version ?? 0,
    schema: schemaOf(described.schema),
    properties: described.properties ?? {},
    isDeclared,
    tags,
    branches,
  };
}

async function findAt(client: ApiClient, path: TablePath, { tag, ...at }: AskedAt): Promise<At> {
  if (tag === undefined) return at;
  const tags = await listTags(client, path);
  const found = Object.hasOwn(tags, tag) ? tags[tag] : undefined;
  if (found === undefined) throw new Error(`The table has no tag ${tag}. It may have been deleted.`);
  const { version, branch } = found;
  return { version, ...(branch === undefined ? {} : { branch }) };
}

/** For requests that take a branch. */
export function branchOf({ at }: { readonly at: At }): { readonly branch?: string } {
  return at.branch === undefined ? {} : { branch: at.branch };
}

export function schemaOf(schema: object | undefined): SchemaJson {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- The server writes it with the function that has this type.
  return (schema ?? { fields: [] }) as SchemaJson;
}
