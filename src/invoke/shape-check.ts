import type { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Validator } from 'typebox/compile';
import { ServiceError } from '../errors/service-error.ts';
import { quoteForMessage } from '../model/identifier.ts';

export interface ShapeCheck {
  /** Refuses what does not fit. With `lenient`, unknown fields are dropped instead, and their places returned. */
  check(value: Record<string, unknown>, lenient: boolean): readonly string[];
}

/** The keywords of a shape that say which fields are known where. */
interface KnownFields {
  readonly properties?: Readonly<Record<string, KnownFields>>;
  readonly additionalProperties?: unknown;
  readonly items?: KnownFields | readonly KnownFields[];
}

interface Fault {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly message: string;
  readonly params: object;
}

const PLACE_CHARACTERS_MAX = 200;

export function createShapeCheck(shape: Type.TSchema): ShapeCheck {
  // At the first use: all of them together would take a tenth of every start.
  let compiled: Validator | undefined;
  return {
    check(value, lenient) {
      const validator = (compiled ??= Compile(shape));
      if (validator.Check(value)) return [];
      const dropped = lenient ? dropUnknown(value, shape, '') : [];
      if (dropped.length > 0 && validator.Check(value)) return dropped;
      throw toRefusal(validator.Errors(value));
    },
  };
}

/** Walks the value once: the validator's own list of faults ends after the first few. */
function dropUnknown(value: unknown, shape: KnownFields, pointer: string): string[] {
  if (Array.isArray(value)) {
    const { items } = shape;
    return value.flatMap((item, index) =>
      dropUnknown(item, (isList(items) ? items[index] : items) ?? {}, `${pointer}/${index}`),
    );
  }
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, field]) => {
    const place = `${pointer}/${escapePointer(name)}`;
    const known = shape.properties;
    if (known !== undefined && Object.hasOwn(known, name)) return dropUnknown(field, known[name] ?? {}, place);
    if (shape.additionalProperties !== false) return [];
    Reflect.deleteProperty(value, name);
    return [placeName(place)];
  });
}

function isList(items: KnownFields['items']): items is readonly KnownFields[] {
  return Array.isArray(items);
}

function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function unescapePointer(part: string): string {
  return part.replaceAll('~1', '/').replaceAll('~0', '~');
}

function toRefusal(faults: readonly Fault[]): ServiceError {
  const unknown = faults.find(isUnknownField);
  if (unknown !== undefined) return unknownField(unknown);
  // The deepest fault is the one that the caller can act on; "matches no choice" above it says nothing more.
  const [fault] = faults
    .filter(({ keyword }) => keyword !== 'additionalProperties')
    .toSorted((one, other) => depth(other) - depth(one));
  if (fault === undefined) return new ServiceError('InvalidInput', 'The body does not have the expected form.');
  if (fault.keyword === 'required') return missingField(fault);
  const place = placeName(fault.instancePath);
  return new ServiceError('InvalidInput', `${place === '' ? 'The body' : place} ${describeFault(fault, faults)}.`);
}

/** Where fields of a map are checked one by one, a wrong value is reported as an additional property too. */
function isUnknownField({ keyword, schemaPath }: Fault): boolean {
  return keyword === 'boolean' && schemaPath.endsWith('/additionalProperties');
}

function unknownField(fault: Fault): ServiceError {
  const cut = fault.instancePath.lastIndexOf('/');
  const name = unescapePointer(fault.instancePath.slice(cut + 1));
  const where = placeName(fault.instancePath.slice(0, cut));
  const place = where === '' ? 'the body' : where;
  return new ServiceError('InvalidInput', `The field ${quoteForMessage(name)} is not known in ${place}.`, {
    hint: 'Check its spelling; unknown fields are refused, so that none is ignored by mistake.',
  });
}

function missingField(fault: Fault): ServiceError {
  const names = (fault.params as { readonly requiredProperties?: readonly string[] }).requiredProperties ?? [];
  const where = placeName(fault.instancePath);
  const fields = `${names.length === 1 ? 'field' : 'fields'} ${names.join(', ')}`;
  return new ServiceError('InvalidInput', `${where === '' ? 'The body' : where} lacks the ${fields}.`);
}

function describeFault(fault: Fault, faults: readonly Fault[]): string {
  const { limit } = fault.params as { readonly limit?: unknown };
  switch (fault.keyword) {
    case 'boolean':
      return 'is one element too many';
    case 'minItems':
      return `has fewer than ${String(limit)} elements`;
    case 'minLength':
      return 'is empty';
    case 'type':
      return `must be ${typesAt(fault.instancePath, faults).join(' or ')}`;
    default:
      return fault.message;
  }
}

/** Of a choice between types, all are named. */
function typesAt(pointer: string, faults: readonly Fault[]): readonly string[] {
  const wanted = faults.filter(({ keyword, instancePath }) => keyword === 'type' && instancePath === pointer);
  return wanted.map(({ params }) => String((params as { readonly type?: unknown }).type));
}

function depth(fault: Fault): number {
  return fault.instancePath.split('/').length;
}

/** `/updates/0/1` as people write it: `updates[0][1]`. Names that callers made up are quoted. */
function placeName(pointer: string): string {
  const parts = pointer.split('/').slice(1);
  return parts
    .map(unescapePointer)
    .map((part, index) => {
      if (/^\d{1,9}$/.test(part)) return `[${part}]`;
      if (!/^\w{1,64}$/.test(part)) return `[${quoteForMessage(part)}]`;
      return index === 0 ? part : `.${part}`;
    })
    .join('')
    .slice(0, PLACE_CHARACTERS_MAX);
}
