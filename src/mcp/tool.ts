import type { ApiClient } from '../client/api-client.ts';
import { invalidInput } from '../errors/service-error.ts';
import { DEFAULT_DELIMITER, parseTablePath } from '../model/identifier.ts';
import type { TablePath } from '../model/identifier.ts';
import type { McpLimits } from '../model/limits/integration-limits.ts';
import { isObject } from '../model/strict-json.ts';

export type ToolArguments = Readonly<Record<string, unknown>>;
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A call of a tool by one caller. */
export interface ToolCall {
  readonly args: ToolArguments;
  /** Sends requests with the caller's credential, to the database in the arguments. */
  readonly client: ApiClient;
  readonly signal: AbortSignal;
  readonly limits: McpLimits;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** The schemas of the arguments, by name. */
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly isWrite: boolean;
  /** Whether it changes or removes existing data. */
  readonly isDestructive: boolean;
  /** Resolves with the text of the result. */
  run(call: ToolCall): Promise<string>;
}

export const TABLE: JsonSchema = {
  type: 'string',
  description: 'Identifier of the table: its name, or namespaces and name joined by $, such as sales$orders.',
};

export const NAMESPACE: JsonSchema = {
  type: 'string',
  description: 'Identifier of the namespace: names joined by $; the root by default.',
};

export const DATABASE: JsonSchema = {
  type: 'string',
  description: 'Database, as listed by list_databases; that of the connection by default.',
};

export function findText(args: ToolArguments, name: string): string | undefined {
  const value = args[name];
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'string') return value;
  throw invalidInput(`The argument ${name} must be a string.`);
}

export function requireText(args: ToolArguments, name: string): string {
  const text = findText(args, name);
  if (text !== undefined && text !== '') return text;
  throw invalidInput(`The argument ${name} is missing.`);
}

export function requireTable(args: ToolArguments): TablePath {
  return parseTablePath(requireText(args, 'table'), DEFAULT_DELIMITER);
}

/** The number of rows that a tool requests, within its limit. */
export function readRowCount(args: ToolArguments, { preset, rowsMax }: { preset: number; rowsMax: number }): number {
  const { k } = args;
  if (k === undefined || k === null) return Math.min(preset, rowsMax);
  if (typeof k !== 'number' || !Number.isInteger(k) || k < 0) throw invalidInput('k must be a whole number.');
  if (k <= rowsMax) return k;
  throw invalidInput(`k is ${k}; a tool returns at most ${rowsMax} rows.`, 'Get the next rows with offset.');
}

export function requireRows(args: ToolArguments): readonly Readonly<Record<string, unknown>>[] {
  const { rows } = args;
  if (Array.isArray(rows) && rows.length > 0 && rows.every(isObject)) return rows;
  throw invalidInput('rows must be a list of objects.', 'Send one object per row, with a member per column.');
}
