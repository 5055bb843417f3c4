import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ADMIN_KEY } from '../support/server.ts';

export interface McpClientOptions {
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the protocol: that of 2025, or that of 2026. */
  readonly era?: 'legacy' | 'modern';
}

export interface ToolResult {
  readonly text: string;
  readonly isError: boolean;
}

/** The client of the official package, connected. */
export async function connectMcp(url: string, options: McpClientOptions = {}) {
  const key = 'key' in options ? options.key : ADMIN_KEY;
  const { era = 'legacy' } = options;
  const client = new Client(
    { name: 'test', version: '1' },
    { versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } } },
  );
  const headers = { ...(key === undefined ? {} : { 'x-api-key': key }), ...options.headers };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } }));
  return {
    client,
    async names(): Promise<readonly string[]> {
      return (await client.listTools()).tools.map(({ name }) => name);
    },
    async call(name: string, args: Record<string, unknown> = {}): Promise<ToolResult> {
      const { content, isError = false } = await client.callTool({ name, arguments: args });
      const text = content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
      return { text, isError };
    },
    close: async (): Promise<void> => client.close(),
  };
}
