import type { ApiClient } from '../client/api-client.ts';
import type { McpLimits } from '../model/limits/integration-limits.ts';

export type ToolArguments = Readonly<Record<string, unknown>>;
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A call of a tool by one caller. */
export interface ToolCall {
  readonly args: ToolArguments;
  /** Sends requests with the credential of the caller, to the database that the arguments name. */
  readonly client: ApiClient;
  readonly signal: AbortSignal;
  readonly limits: McpLimits;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** Of the arguments, by name. */
  readonly properties: Readonly<Record<string, JsonSchema>>;
  readonly required: readonly string[];
  readonly isWrite: boolean;
  /** Changes or removes what was there before. */
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
