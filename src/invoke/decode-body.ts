import type { Type } from 'typebox';
import { invalidInput } from '../errors/service-error.ts';
import type { ServiceError } from '../errors/service-error.ts';
import { nearestName } from '../model/field-path.ts';
import { quoteForMessage } from '../model/identifier.ts';
import { isObject, withoutNulls } from '../model/strict-json.ts';
import type { Dialect, Operation } from '../operations/operation.ts';
import type { Services } from '../operations/services.ts';
import { escapePointer, findFaults, matches } from './find-faults.ts';
import type { Fault, NestedShape } from './find-faults.ts';

type Body = Record<string, unknown>;

/** A parsed JSON object, normalized and validated against the operation's shape. */
export function decodeBody(
  operation: Operation,
  raw: Body,
  dialect: Dialect,
  { telemetry }: Pick<Services, 'telemetry'>,
): Body {
  if (operation.body.kind !== 'json') return raw;
  const given = withoutNulls(raw);
  const body = operation.body.normalize?.(given) ?? given;
  // Newer LanceDB clients add fields; for other clients, a misspelled field must be an error.
  const ignored = checkShape(operation.body.shape, body, dialect === 'lancedb');
  if (ignored.length > 0) {
    telemetry.emit({ kind: 'unknown-fields-ignored', operation: operation.id, names: ignored });
  }
  return body;
}

const FIELD_CHARACTERS_MAX = 200;

/** Refuses a value that does not match. If `lenient`, drops unknown fields and returns their paths. */
export function checkShape(shape: Type.TSchema, value: Body, lenient: boolean): readonly string[] {
  if (matches(shape, value)) return [];
  dropNulls(value, shape);
  if (matches(shape, value)) return [];
  const dropped = lenient ? dropUnknown(value, shape, '') : [];
  if (dropped.length > 0 && matches(shape, value)) return dropped;
  throw shapeRefusal(findFaults(shape, value));
}

/**
 * Nested null fields also count as absent, unless their shape accepts null: clients send every field that they know.
 */
function dropNulls(value: unknown, shape: NestedShape): void {
  if (Array.isArray(value)) {
    const { items } = shape;
    // See `dropUnknown` below: values without fields are skipped.
    if (items === undefined || isList(items) || !hasFields(items)) return;
    for (const item of value) dropNulls(item, items);
    return;
  }
  if (!isObject(value)) return;
  for (const [name, field] of Object.entries(shape.properties ?? {})) {
    if (value[name] !== null) dropNulls(value[name], field);
    else if (shape.required?.includes(name) !== true && !matches(field, null)) Reflect.deleteProperty(value, name);
  }
}

function dropUnknown(value: unknown, shape: NestedShape, pointer: string): string[] {
  if (Array.isArray(value)) {
    const { items } = shape;
    // Numbers and texts have no fields, and there may be millions.
    if (!hasFields(items)) return [];
    return value.flatMap((item, index) =>
      dropUnknown(item, (isList(items) ? items[index] : items) ?? {}, `${pointer}/${index}`),
    );
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const path = `${pointer}/${escapePointer(name)}`;
    const known = shape.properties;
    if (known !== undefined && Object.hasOwn(known, name)) return dropUnknown(field, known[name] ?? {}, path);
    if (shape.additionalProperties !== false) return [];
    Reflect.deleteProperty(value, name);
    return [fieldName(path)];
  });
}

function hasFields(items: NestedShape['items']): boolean {
  if (isList(items)) return items.some((item) => hasFields(item));
  return items !== undefined && (items.properties !== undefined || hasFields(items.items));
}

function isList(items: NestedShape['items']): items is readonly NestedShape[] {
  return Array.isArray(items);
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

function shapeRefusal(faults: readonly Fault[]): ServiceError {
  const unknown = faults.find(isUnknownField);
  if (unknown !== undefined) return unknownField(unknown);
  // The deepest fault is specific; those above it only report that no alternative matches.
  const [fault] = faults
    .filter(({ keyword }) => keyword !== 'additionalProperties')
    .toSorted((one, other) => depth(other) - depth(one));
  if (fault === undefined) return invalidInput('The body does not match the expected schema.');
  return invalidInput(`${fieldName(fault.instancePath) || 'The body'} ${describeFault(fault, faults)}.`);
}

/** A wrong value in a map is also reported as an additional property, but with another keyword. */
function isUnknownField({ keyword, schemaPath }: Fault): boolean {
  return keyword === 'boolean' && schemaPath.endsWith('/additionalProperties');
}

function unknownField(fault: Fault): ServiceError {
  const cut = fault.instancePath.lastIndexOf('/');
  const name = unescapePointer(fault.instancePath.slice(cut + 1));
  const parent = fieldName(fault.instancePath.slice(0, cut)) || 'the body';
  const near = nearestName(name, fault.params.knownFields ?? []);
  const advice = near === undefined ? 'Check its spelling.' : `Did you mean ${quoteForMessage(near)}?`;
  return invalidInput(
    `The field ${quoteForMessage(name)} is unknown in ${parent}.`,
    `${advice} Unknown fields are refused.`,
  );
}

function describeFault(fault: Fault, faults: readonly Fault[]): string {
  switch (fault.keyword) {
    case 'required': {
      const { requiredProperties: names = [] } = fault.params;
      return `is missing the ${names.length === 1 ? 'field' : 'fields'} ${names.join(', ')}`;
    }
    case 'boolean':
      return 'is one element too many';
    case 'minItems':
      return `has fewer than ${String(fault.params.limit)} elements`;
    case 'minLength':
      return 'is empty';
    case 'type':
      return `must be ${typesAt(fault.instancePath, faults).join(' or ')}`;
    default:
      return fault.message;
  }
}

/** All types of a union. */
function typesAt(pointer: string, faults: readonly Fault[]): readonly string[] {
  return faults.flatMap((fault) =>
    fault.keyword === 'type' && fault.instancePath === pointer ? [String(fault.params.type)] : [],
  );
}

function depth(fault: Fault): number {
  return fault.instancePath.split('/').length;
}

/** `updates[0][1]` for the JSON pointer `/updates/0/1`; quotes unusual names. */
function fieldName(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map(unescapePointer)
    .map((part, index) => {
      if (/^\d{1,9}$/.test(part)) return `[${part}]`;
      if (!/^\w{1,64}$/.test(part)) return `[${quoteForMessage(part)}]`;
      return index === 0 ? part : `.${part}`;
    })
    .join('')
    .slice(0, FIELD_CHARACTERS_MAX);
}
