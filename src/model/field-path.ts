import { ServiceError, invalidInput } from '../errors/service-error.ts';
import { quoteForMessage } from './identifier.ts';
import { childFields } from './schema.ts';
import type { Field, Schema } from './schema.ts';
import { formatCount } from './value-text.ts';

/** The names from a top-level field down to one of its descendants. */
export type FieldPath = readonly [string, ...string[]];

const SEGMENTS_MAX = 64;
const CHARACTERS_MAX = 4096;
const SUGGESTION_FIELDS_MAX = 2000;
const SUGGESTION_CHARACTERS_MAX = 64;
const SUGGESTION_EDITS_MAX = 2;
const HINT_NAMES_MAX = 10;

export function parseFieldPath(text: string): FieldPath {
  if (text === '') throw pathFault(text, 'is empty');
  if (text.length > CHARACTERS_MAX) throw pathFault(text, `is longer than ${formatCount(CHARACTERS_MAX)} characters`);
  const first = readSegment(text, 0);
  const rest: string[] = [];
  let end = first.end;
  while (end < text.length) {
    if (rest.length + 1 === SEGMENTS_MAX) throw pathFault(text, `has more than ${SEGMENTS_MAX} segments`);
    const segment = readSegment(text, end + 1);
    rest.push(segment.name);
    end = segment.end;
  }
  return [first.name, ...rest];
}

/** The canonical form: quotes a segment only if it would be ambiguous or hard to see. */
export function formatFieldPath(path: FieldPath): string {
  return path.map(formatSegment).join('.');
}

export function quotePath(path: FieldPath): string {
  return quoteForMessage(formatFieldPath(path));
}

/** Case-sensitive: a bare name only matches a top-level field. */
export function resolveField(schema: Schema, path: FieldPath): Field | undefined {
  let siblings = schema.fields;
  let found: Field | undefined;
  for (const name of path) {
    found = siblings.find((field) => field.name === name);
    if (found === undefined) return undefined;
    siblings = addressableChildren(found);
  }
  return found;
}

export function requireField(schema: Schema, path: FieldPath): Field {
  const field = resolveField(schema, path);
  if (field !== undefined) return field;
  throw new ServiceError('TableColumnNotFound', `The table has no field ${quotePath(path)}.`, {
    hint: missingFieldHint(schema, path),
  });
}

/** In the engine's SQL, a name in backticks is case-sensitive, and indexing by text reaches children with any name. */
export function sqlFieldReference(path: FieldPath): string {
  const [first, ...rest] = path;
  return quoteWithBackticks(first) + rest.map((name) => `[${sqlString(name)}]`).join('');
}

export function sqlString(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

interface Segment {
  readonly name: string;
  /** The offset of the dot after the segment, or of the end of the text. */
  readonly end: number;
}

function readSegment(text: string, start: number): Segment {
  if (text[start] === '`') return readQuotedSegment(text, start);
  const dot = text.indexOf('.', start);
  const end = dot === -1 ? text.length : dot;
  if (end === start) throw pathFault(text, 'has an empty segment', start);
  const name = text.slice(start, end);
  const backtick = name.indexOf('`');
  if (backtick !== -1) throw pathFault(text, 'has a backtick inside an unquoted segment', start + backtick);
  return { name, end };
}

function readQuotedSegment(text: string, start: number): Segment {
  let close = text.indexOf('`', start + 1);
  while (close !== -1 && text[close + 1] === '`') close = text.indexOf('`', close + 2);
  if (close === -1) throw pathFault(text, 'has a quoted segment without its closing backtick', start);
  const end = close + 1;
  if (end < text.length && text[end] !== '.') throw pathFault(text, 'has text after a closing backtick', end);
  return { name: text.slice(start + 1, close).replaceAll('``', '`'), end };
}

function pathFault(text: string, fault: string, offset?: number): ServiceError {
  const where = offset === undefined ? '' : ` at character ${offset + 1}`;
  return invalidInput(
    `The field path ${quoteForMessage(text)} ${fault}${where}.`,
    'Separate segments with dots. Quote a segment that contains a dot with backticks, and double a backtick inside it.',
  );
}

function formatSegment(name: string): string {
  const needsQuotes = name === '' || /[.`]/.test(name) || name.trim() !== name;
  return needsQuotes ? quoteWithBackticks(name) : name;
}

function quoteWithBackticks(name: string): string {
  return `\`${name.replaceAll('`', '``')}\``;
}

/** In the storage format, the item of a vector is not a field, but that of a list of structs is. */
function addressableChildren(field: Field): readonly Field[] {
  const { type } = field;
  if (type.kind === 'fixed-size-list' && type.item.type.kind !== 'struct') return [];
  return childFields(type);
}

function missingFieldHint(schema: Schema, path: FieldPath): string {
  const near = nearestPath(schema, path);
  if (near !== undefined) return `Did you mean ${quotePath(near)}?`;
  if (schema.fields.length === 0) return 'The table has no fields.';
  const shown = schema.fields.slice(0, HINT_NAMES_MAX).map((field) => quotePath([field.name]));
  const others = schema.fields.length - shown.length;
  return `Its top-level fields are ${shown.join(', ')}${others > 0 ? ` and ${others} more` : ''}.`;
}

function nearestPath(schema: Schema, path: FieldPath): FieldPath | undefined {
  const wanted = formatFieldPath(path);
  if (wanted.length > SUGGESTION_CHARACTERS_MAX) return undefined;
  let nearest: FieldPath | undefined;
  let fewest = SUGGESTION_EDITS_MAX + 1;
  for (const candidate of fieldPaths(schema)) {
    const edits = suggestionEdits(candidate, path, wanted);
    if (edits < fewest) [nearest, fewest] = [candidate, edits];
  }
  return nearest;
}

/** Breadth first, so that of two equally similar fields the outer one is suggested. */
function fieldPaths(schema: Schema): readonly FieldPath[] {
  const paths: FieldPath[] = [];
  const queue: { readonly field: Field; readonly path: FieldPath }[] = schema.fields
    .slice(0, SUGGESTION_FIELDS_MAX)
    .map((field) => ({ field, path: [field.name] }));
  for (const { field, path } of queue) {
    paths.push(path);
    const remaining = SUGGESTION_FIELDS_MAX - queue.length;
    for (const child of addressableChildren(field).slice(0, Math.max(remaining, 0))) {
      queue.push({ field: child, path: [...path, child.name] });
    }
  }
  return paths;
}

/** A nested field with the wanted name counts as similar: the caller omitted its parents. */
function suggestionEdits(candidate: FieldPath, path: FieldPath, wanted: string): number {
  if (path.length === 1 && candidate.length > 1 && candidate.at(-1) === path[0]) return SUGGESTION_EDITS_MAX;
  const text = formatFieldPath(candidate);
  if (Math.abs(text.length - wanted.length) > SUGGESTION_EDITS_MAX) return Number.POSITIVE_INFINITY;
  if (text.toLowerCase() === wanted.toLowerCase()) return 0;
  const edits = editDistance(text, wanted);
  return edits * 2 < wanted.length ? edits : Number.POSITIVE_INFINITY;
}

/** The known name that was probably meant. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let nearest: string | undefined;
  let least = Math.max(SUGGESTION_EDITS_MAX, Math.floor(name.length / 4)) + 1;
  for (const other of known) {
    if (Math.abs(other.length - name.length) >= least) continue;
    const distance = editDistance(name.toLowerCase(), other.toLowerCase());
    if (distance < least && distance * 2 <= name.length) [nearest, least] = [other, distance];
  }
  return nearest;
}

/** Insertions, deletions and replacements that turn one text into the other (Levenshtein). */
export function editDistance(left: string, right: string): number {
  let row = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let line = 0; line < left.length; line += 1) {
    const next = [line + 1];
    for (let column = 0; column < right.length; column += 1) {
      const changed = (row[column] ?? 0) + (left[line] === right[column] ? 0 : 1);
      next.push(Math.min(changed, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row[right.length] ?? 0;
}
