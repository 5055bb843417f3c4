type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json };

/** How a language writes the parts of a value. */
interface Style {
  readonly text: (text: string) => string;
  readonly key: (name: string) => string;
  readonly words: { readonly true: string; readonly false: string; readonly null: string };
  readonly indent: string;
  /** Follows the last of several items on separate lines. */
  readonly trailing: string;
  /** Inside braces on one line. */
  readonly padding: string;
}

const LINE_CHARACTERS_MAX = 80;
const JSON_WORDS = { true: 'true', false: 'false', null: 'null' } as const;

const JSON_STYLE: Style = {
  text: (text) => JSON.stringify(text),
  key: (name) => JSON.stringify(name),
  words: JSON_WORDS,
  indent: '  ',
  trailing: '',
  padding: '',
};

const PYTHON_STYLE: Style = {
  ...JSON_STYLE,
  words: { true: 'True', false: 'False', null: 'None' },
  indent: '    ',
  trailing: ',',
};

const TYPESCRIPT_STYLE: Style = {
  text: quoteTypeScript,
  key: typeScriptKey,
  words: JSON_WORDS,
  indent: '  ',
  trailing: ',',
  padding: ' ',
};

export function toJsonText(value: unknown): string {
  return print(toJson(value), JSON_STYLE, '');
}

export function toPythonLiteral(value: unknown, indent = ''): string {
  return print(toJson(value), PYTHON_STYLE, indent);
}

export function toTypeScriptLiteral(value: unknown, indent = ''): string {
  return print(toJson(value), TYPESCRIPT_STYLE, indent);
}

/** One word of a POSIX shell. */
export function quoteShell(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Drops `undefined` members, as a request does. */
function toJson(value: unknown): Json {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- What JSON.parse returns has this type.
  return JSON.parse(JSON.stringify(value)) as Json;
}

/** On one line if it fits; lists of numbers, such as a vector, always. */
function print(value: Json, style: Style, indent: string): string {
  if (typeof value === 'string') return style.text(value);
  if (typeof value === 'number') return String(value);
  if (value === null || typeof value === 'boolean') return style.words[`${value}`];
  const [open, close, items] = isList(value)
    ? (['[', ']', value.map((each) => ['', each] as const)] as const)
    : (['{', '}', Object.entries(value).map(([name, each]) => [`${style.key(name)}: `, each] as const)] as const);
  const padding = isList(value) || items.length === 0 ? '' : style.padding;
  const line = `${open}${padding}${items.map(([key, each]) => `${key}${print(each, style, '')}`).join(', ')}${padding}${close}`;
  const isShort = line.length + indent.length <= LINE_CHARACTERS_MAX && !line.includes('\n');
  if (isShort || (isList(value) && value.every((each) => typeof each === 'number'))) return line;
  const inner = `${indent}${style.indent}`;
  const lines = items.map(([key, each]) => `${inner}${key}${print(each, style, inner)}`);
  return `${open}\n${lines.join(',\n')}${style.trailing}\n${indent}${close}`;
}

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** JSON's escapes are also those of JavaScript; only the quotes differ. */
function quoteTypeScript(text: string): string {
  const inner = JSON.stringify(text)
    .slice(1, -1)
    .replaceAll(String.raw`\"`, '"');
  return `'${inner.replaceAll("'", String.raw`\'`)}'`;
}

/** In an object literal, a plain `__proto__` would set the prototype. */
function typeScriptKey(name: string): string {
  if (name === '__proto__') return "['__proto__']";
  return /^[a-z_]\w*$/i.test(name) ? name : quoteTypeScript(name);
}
