import type { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import type { Validator } from 'typebox/compile';
import { isObject } from '../model/strict-json.ts';

/** One reason why a value does not match, in terms of JSON Schema. */
export interface Fault {
  readonly keyword: string;
  readonly schemaPath: string;
  readonly instancePath: string;
  readonly params: FaultParameters;
  readonly message: string;
}

/** Each keyword has some of these. */
interface FaultParameters {
  readonly requiredProperties?: readonly string[];
  /** For an unknown field: the fields that its parent has. */
  readonly knownFields?: readonly string[];
  readonly limit?: unknown;
  readonly type?: unknown;
  readonly [other: string]: unknown;
}

/** The keywords of a shape that contain other shapes. */
export interface NestedShape extends Type.TSchema {
  readonly type?: string;
  readonly anyOf?: readonly NestedShape[];
  readonly properties?: Readonly<Record<string, NestedShape>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | NestedShape;
  readonly patternProperties?: Readonly<Record<string, NestedShape>>;
  readonly items?: NestedShape | readonly NestedShape[];
  readonly minItems?: number;
}

/** Compiled on first use: compiling all shapes would take a tenth of the startup time. */
const validators = new WeakMap<Type.TSchema, Validator>();

export function matches(shape: Type.TSchema, value: unknown): boolean {
  return validatorOf(shape).Check(value);
}

/**
 * Why a value does not match. Reports only the first wrong item of an array, and the first wrong entry of a map: the
 * library's own list takes seconds for millions of them.
 */
export function findFaults(shape: NestedShape, value: unknown, pointer = ''): readonly Fault[] {
  if (matches(shape, value)) return [];
  if (shape.anyOf !== undefined) return shape.anyOf.flatMap((choice) => findFaults(choice, value, pointer));
  if (Array.isArray(value))
    return shape.type === 'array' ? faultsOfArray(shape, value, pointer) : wrongType(shape, pointer);
  if (isObject(value))
    return shape.type === 'object' ? faultsOfObject(shape, value, pointer) : wrongType(shape, pointer);
  return validatorOf(shape)
    .Errors(value)
    .map((fault) => ({ ...fault, instancePath: pointer + fault.instancePath }));
}

export function escapePointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1');
}

function validatorOf(shape: Type.TSchema): Validator {
  let validator = validators.get(shape);
  if (validator === undefined) validators.set(shape, (validator = Compile(shape)));
  return validator;
}

function faultsOfArray(shape: NestedShape, value: readonly unknown[], pointer: string): readonly Fault[] {
  const { items, minItems = 0 } = shape;
  if (value.length < minItems) return [newFault('minItems', pointer, { limit: minItems })];
  if (items === undefined) return [];
  if (isTuple(items)) {
    if (value.length > items.length) return [newFault('boolean', `${pointer}/${items.length}`)];
    return items.flatMap((item, index) => findFaults(item, value[index], `${pointer}/${index}`));
  }
  const wrong = value.findIndex((item) => !matches(items, item));
  return wrong === -1 ? [] : findFaults(items, value[wrong], `${pointer}/${wrong}`);
}

function faultsOfObject(
  shape: NestedShape,
  value: Readonly<Record<string, unknown>>,
  pointer: string,
): readonly Fault[] {
  const { properties = {}, required = [], additionalProperties, patternProperties } = shape;
  const missing = required.filter((name) => !Object.hasOwn(value, name));
  const faults = missing.length === 0 ? [] : [newFault('required', pointer, { requiredProperties: missing })];
  const others = Object.keys(value).filter((name) => !Object.hasOwn(properties, name));
  const [rest = additionalProperties] = Object.values(patternProperties ?? {});
  return [
    ...faults,
    ...Object.entries(properties).flatMap(([name, property]) =>
      Object.hasOwn(value, name) ? findFaults(property, value[name], `${pointer}/${escapePointer(name)}`) : [],
    ),
    ...(rest === false
      ? faultsOfUnknown(others, Object.keys(properties), pointer)
      : faultsOfOthers(rest, value, others, pointer)),
  ];
}

function faultsOfUnknown(
  [first]: readonly string[],
  knownFields: readonly string[],
  pointer: string,
): readonly Fault[] {
  return first === undefined ? [] : [unknownField(`${pointer}/${escapePointer(first)}`, knownFields)];
}

/** Faults of the fields that the shape does not name. */
function faultsOfOthers(
  rest: boolean | NestedShape | undefined,
  value: Readonly<Record<string, unknown>>,
  names: readonly string[],
  pointer: string,
): readonly Fault[] {
  if (typeof rest !== 'object') return [];
  const wrong = names.find((name) => !matches(rest, value[name]));
  return wrong === undefined ? [] : findFaults(rest, value[wrong], `${pointer}/${escapePointer(wrong)}`);
}

function isTuple(items: NestedShape | readonly NestedShape[]): items is readonly NestedShape[] {
  return Array.isArray(items);
}

function wrongType({ type }: NestedShape, pointer: string): readonly Fault[] {
  return [newFault('type', pointer, { type })];
}

/** The library uses this keyword for unknown fields. */
function unknownField(pointer: string, knownFields: readonly string[]): Fault {
  return { ...newFault('boolean', pointer, { knownFields }), schemaPath: '#/additionalProperties' };
}

function newFault(keyword: string, instancePath: string, params: FaultParameters = {}): Fault {
  return { keyword, schemaPath: '#', instancePath, params, message: 'does not match the expected schema' };
}
