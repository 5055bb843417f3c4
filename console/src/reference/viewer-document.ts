type Json = Readonly<Record<string, unknown>>;

/**
 * The description as OpenAPI 3.0, which the viewer renders with less work: for 3.1 it first transforms the whole
 * document. Only the differences between the two are converted.
 */
export function toViewerDocument(text: string): string {
  const { info, ...rest }: { info: Json } & Json = JSON.parse(text);
  const { license: _license, ...shown } = info;
  return JSON.stringify({ ...convert(rest), openapi: '3.0.3', info: shown });
}

function convert(node: Json): Json {
  const { const: value, prefixItems, exclusiveMinimum, anyOf, ...others } = node;
  const entries = Object.entries(others).map(([name, each]) => [name, convertValue(each)]);
  return {
    ...Object.fromEntries(entries),
    ...(value === undefined ? {} : { enum: [value] }),
    ...(prefixItems === undefined ? {} : { items: {} }),
    ...(typeof exclusiveMinimum === 'number' ? { minimum: exclusiveMinimum, exclusiveMinimum: true } : {}),
    ...(Array.isArray(anyOf) ? convertChoices(anyOf) : {}),
  };
}

function convertValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(convertValue);
  return isObject(value) ? convert(value) : value;
}

function convertChoices(choices: readonly unknown[]): Json {
  const kept = choices.filter((choice) => !isObject(choice) || choice['type'] !== 'null').map(convertValue);
  const nullable = kept.length < choices.length ? { nullable: true } : {};
  const [only] = kept;
  return kept.length === 1 && isObject(only) ? { ...only, ...nullable } : { anyOf: kept, ...nullable };
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null;
}
