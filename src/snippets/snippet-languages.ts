import type { TableRequest } from './table-request.ts';
import { toCurl } from './to-curl.ts';
import { toPython } from './to-python.ts';
import { toTypeScript } from './to-typescript.ts';

export const SNIPPET_LANGUAGES = ['curl', 'python', 'typescript'] as const;
export type SnippetLanguage = (typeof SNIPPET_LANGUAGES)[number];

const WRITERS: Readonly<Record<SnippetLanguage, (request: TableRequest) => string>> = {
  curl: toCurl,
  python: toPython,
  typescript: toTypeScript,
};

/** A complete program that sends the request and prints the result. */
export function toSnippet(language: SnippetLanguage, request: TableRequest): string {
  return `${WRITERS[language](request)}\n`;
}
