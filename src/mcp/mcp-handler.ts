import { ProtocolError, Server, createMcpHandler } from '@modelcontextprotocol/server';
import type { CallToolResult, Tool as ListedTool } from '@modelcontextprotocol/server';
import { AjvJsonSchemaValidator } from '@modelcontextprotocol/server/validators/ajv';
import type { ApiClient } from '../client/api-client.ts';
import { ClientError } from '../client/client-error.ts';
import { ServiceError } from '../errors/service-error.ts';
import { writesAnything } from '../model/access.ts';
import type { Caller } from '../model/access.ts';
import type { McpLimits } from '../model/limits/integration-limits.ts';
import { DATABASE, findText } from './tool.ts';
import type { Tool, ToolArguments } from './tool.ts';
import { TOOLS } from './tools.ts';

export interface McpSettings {
  readonly release: string;
  /** Whether tools may write at all. */
  readonly writes: boolean;
  readonly limits: McpLimits;
  readonly onFailure: (cause: unknown) => void;
}

/** One message of the protocol from an authenticated caller. */
export interface McpMessage {
  readonly request: Request;
  /** The parsed body of the request. */
  readonly body: unknown;
  readonly caller: Caller;
  /** Sends requests with the caller's credential. */
  readonly client: ApiClient;
}

export type McpHandler = ReturnType<typeof createMcp>;

const INSTRUCTIONS = `Tables of vectors, text and structured columns in a Tiltyard server.
Start with list_tables_of_namespace and describe_table. Filters are SQL expressions, such as price < 10 AND name LIKE 'a%'.
The identifier of a table in a namespace is namespace$table. Every result is bounded and says how to get more.`;

const INVALID_PARAMS = -32_602;

/** Stateless: every message is self-contained, so any node of a cluster can handle it. */
export function createMcp(settings: McpSettings) {
  const jsonSchemaValidator = new AjvJsonSchemaValidator();
  const byName = new Map(TOOLS.map((tool) => [tool.name, tool]));
  const createServer = ({ caller, client }: McpMessage): Server => {
    const mayWrite = settings.writes && writesAnything(caller);
    const server = new Server(
      { name: 'tiltyard', title: 'Tiltyard', version: settings.release },
      { capabilities: { tools: {} }, instructions: INSTRUCTIONS, jsonSchemaValidator },
    );
    server.setRequestHandler('tools/list', () => {
      return { tools: TOOLS.filter(({ isWrite }) => mayWrite || !isWrite).map(toListedTool) };
    });
    server.setRequestHandler('tools/call', async ({ params }, { mcpReq: { signal } }) => {
      const tool = byName.get(params.name);
      if (tool === undefined)
        throw new ProtocolError(INVALID_PARAMS, `The tool ${params.name.slice(0, 100)} does not exist.`);
      const { database: _database, ...args } = params.arguments ?? {};
      // Replies that a tool has not read to their end would keep their memory and quotas.
      const ended = new AbortController();
      return answer(settings, async () => {
        if (tool.isWrite && !mayWrite) throw writesAreOff(settings.writes);
        const { limits } = settings;
        const either = AbortSignal.any([signal, ended.signal]);
        return tool.run({ args, client: chooseDatabase(client, params.arguments), signal: either, limits });
      }).finally(() => ended.abort());
    });
    return server;
  };
  return {
    async handle(message: McpMessage): Promise<Response> {
      const handler = createMcpHandler(() => createServer(message), { maxSubscriptions: 0 });
      return handler.fetch(message.request, { parsedBody: message.body });
    },
  };
}

function toListedTool({ name, description, properties, required, isWrite, isDestructive }: Tool): ListedTool {
  return {
    name,
    description,
    inputSchema: {
      type: 'object',
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- Schemas are JSON; the protocol's type says so of every value.
      properties: { database: DATABASE, ...properties } as ListedTool['inputSchema']['properties'],
      required: [...required],
      additionalProperties: false,
    },
    annotations: { readOnlyHint: !isWrite, destructiveHint: isDestructive, openWorldHint: false },
  };
}

function chooseDatabase(client: ApiClient, args: ToolArguments = {}): ApiClient {
  const database = findText(args, 'database');
  return database === undefined ? client : client.withDatabase(database);
}

/** A refusal is a result too: the model reads it and can correct its call. */
async function answer({ onFailure }: McpSettings, run: () => Promise<string>): Promise<CallToolResult> {
  try {
    return { content: [{ type: 'text', text: await run() }] };
  } catch (error) {
    return { isError: true, content: [{ type: 'text', text: explain(error, onFailure) }] };
  }
}

function explain(error: unknown, onFailure: (cause: unknown) => void): string {
  if (error instanceof ServiceError) return error.detail;
  if (error instanceof ClientError) {
    const { detail, retryAfterSeconds } = error;
    return retryAfterSeconds === undefined ? detail : `${detail} Try again after ${retryAfterSeconds} s.`;
  }
  onFailure(error);
  return 'The server failed to process this call.';
}

function writesAreOff(areOn: boolean): ServiceError {
  if (areOn) return new ServiceError('PermissionDenied', 'The credential has no role that allows writes.');
  return new ServiceError('PermissionDenied', 'Tools are read-only on this server.', {
    hint: 'An operator can enable writes with the setting mcp.writes.',
  });
}
