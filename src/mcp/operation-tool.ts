import { invalidInput } from '../errors/service-error.ts';
import { DEFAULT_DELIMITER, pathSegment, quoteForMessage } from '../model/identifier.ts';
import type { Operation } from '../operations/operation.ts';
import { toJsonSchema } from '../wire/shapes.ts';
import { readReply } from './read-reply.ts';
import { renderReply } from './render.ts';
import { NAMESPACE, TABLE, findText, requireText } from './tool.ts';
import type { JsonSchema, Tool, ToolArguments } from './tool.ts';

interface OperationToolOptions {
  /** A second sentence. */
  readonly advice?: string;
  /** Fields of the operation that the tool does not accept. */
  readonly without?: readonly string[];
  /** Schemas for arguments whose shape has several forms. */
  readonly forms?: Readonly<Record<string, JsonSchema>>;
  readonly isDestructive?: boolean;
}

/** Fields of every body that the address and the headers already provide. */
const COMMON_FIELDS = ['id', 'identity', 'context'];

/** A tool with the name of an operation, and the arguments that its shapes describe. */
export function operationTool(operation: Operation, options: OperationToolOptions = {}): Tool {
  const { advice, without = [], forms = {}, isDestructive = false } = options;
  const names = pathParameters(operation);
  const hidden = new Set([...COMMON_FIELDS, 'delimiter', ...without]);
  const bodyFields = bodyShapes(operation);
  const fields = Object.entries({ ...operation.query.properties, ...bodyFields }).filter(([name]) => !hidden.has(name));
  const properties: Record<string, JsonSchema> = { ...names };
  for (const [name, shape] of fields) properties[name] = forms[name] ?? Object(toJsonSchema(shape));
  const known = new Set(Object.keys(properties));
  const isWrite = operation.permission === 'write' || operation.permission === 'manage';
  return {
    name: operation.id,
    description: [`${operation.summary}.`, ...(advice === undefined ? [] : [advice])].join(' '),
    properties,
    required: [
      ...Object.keys(names).filter((name) => name !== 'namespace'),
      ...requiredFields(operation).filter((name) => !hidden.has(name)),
    ],
    isWrite,
    isDestructive,
    async run({ args, client, signal, limits }) {
      refuseUnknown(args, known);
      const given = Object.entries(args).filter(([name, value]) => !(name in names) && value !== null);
      const address = toAddress(operation, args);
      const inBody = given.filter(([name]) => name in bodyFields);
      const query = toQuery(given.filter(([name]) => !(name in bodyFields)));
      const call = operation.methods[0] === 'GET' ? { query } : { query, json: Object.fromEntries(inBody) };
      const reply = await client.open(address, { ...call, accept: 'application/json', signal });
      return renderReply(await readReply(reply, limits.readBytesMax), limits.resultBytesMax);
    },
  };
}

function bodyShapes({ body }: Operation): Readonly<Record<string, unknown>> {
  return body.kind === 'json' ? body.shape.properties : {};
}

function requiredFields({ body }: Operation): readonly string[] {
  return body.kind === 'json' ? (body.shape.required ?? []) : [];
}

/** The path parameters of an operation, by the argument names of the tool. */
function pathParameters(operation: Operation): Readonly<Record<string, JsonSchema>> {
  const names = [...operation.path.matchAll(/:(\w+)/g)].map(([, name = '']) => toArgumentName(operation, name));
  return Object.fromEntries(names.map((name) => [name, SCHEMAS[name] ?? { type: 'string' }]));
}

const SCHEMAS: Readonly<Record<string, JsonSchema>> = { table: TABLE, namespace: NAMESPACE };

function toArgumentName({ target }: Operation, parameter: string): string {
  if (parameter !== 'id') return parameter;
  if (target === 'table' || target === 'new-table') return 'table';
  return target === 'namespace' || target === 'new-namespace' ? 'namespace' : 'transaction_id';
}

function toAddress(operation: Operation, args: ToolArguments): string {
  return operation.path.replaceAll(/:(\w+)/g, (_part, parameter: string) => {
    const name = toArgumentName(operation, parameter);
    const text = name === 'namespace' ? (findText(args, name) ?? DEFAULT_DELIMITER) : requireText(args, name);
    return pathSegment(text);
  });
}

function toQuery(given: readonly (readonly [string, unknown])[]): Record<string, string> {
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]));
}

function refuseUnknown(args: ToolArguments, known: ReadonlySet<string>): void {
  const unknown = Object.keys(args).find((name) => !known.has(name));
  if (unknown === undefined) return;
  const hint = `The arguments are ${[...known].join(', ')}.`;
  throw invalidInput(`The argument ${quoteForMessage(unknown)} is unknown.`, hint);
}
