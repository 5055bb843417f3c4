import type { Data, DataType } from 'apache-arrow';
import { ServiceError } from '../errors/service-error.ts';
import { buildData } from './build-data.ts';
import { Misfit } from './convert-value.ts';
import { plainValue } from './plain-value.ts';
import type { PlannedColumn } from './source.ts';
import { valuesOf } from './values-of.ts';

/** A column that is to have another type than in the file. */
export function convertColumn(data: Data, column: PlannedColumn, firstRow: number): Data {
  return convertValues(valuesOf(data), data.type, column, firstRow);
}

export function convertValues(
  values: readonly unknown[],
  from: DataType,
  { convert, type, source }: PlannedColumn,
  firstRow: number,
): Data {
  const converted = values.map((value, index) => {
    try {
      return convert?.(plainValue(value, from)) ?? null;
    } catch (error) {
      if (!(error instanceof Misfit)) throw error;
      const place = `Row ${firstRow + index + 1}: the value of "${source.name}"`;
      throw new ServiceError('InvalidInput', `${place} ${error.fault}.`, { hint: 'Give the column another type.' });
    }
  });
  return buildData(type, converted);
}
