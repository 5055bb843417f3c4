import type { PlainRequest } from './plain-request.ts';

/** The part of an operation in `openapi.json` that its examples are in. */
export interface DescribedOperation {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly example?: string }[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example?: object }>> };
}

/** The example request of an operation. */
export function toRequest(base: string, path: string, method: string, operation: DescribedOperation): PlainRequest {
  const examples = (location: string): readonly (readonly [string, string])[] =>
    (operation.parameters ?? []).flatMap(({ name, in: at, example }) =>
      at === location && example !== undefined ? [[name, example] as const] : [],
    );
  const values = new Map(examples('path'));
  const filled = path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => encodeURIComponent(values.get(name) ?? name));
  const query = new URLSearchParams(Object.fromEntries(examples('query'))).toString();
  const content = operation.requestBody?.content;
  return {
    method: method.toUpperCase(),
    url: `${base}${filled}${query === '' ? '' : `?${query}`}`,
    body:
      content === undefined || method.toUpperCase() === 'GET'
        ? undefined
        : (content['application/json']?.example ?? 'arrow'),
  };
}
