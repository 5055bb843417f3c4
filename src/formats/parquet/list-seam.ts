import { DataType } from 'apache-arrow';
import type { Data } from 'apache-arrow';
import { buildData } from '../types/build-data.ts';
import { valuesOf } from '../types/values-of.ts';

/** Joins lists of a column that was read in windows: the last list of one may continue in the next. */
export class ListSeam {
  #last: Data | undefined;

  /** The rows that are known to be whole. With a filler, the first item of the first list does not belong to it. */
  add(data: Data, hasFiller: boolean): readonly Data[] {
    const whole: Data[] = [];
    let rest = data;
    if (hasFiller && this.#last !== undefined) {
      const items = firstItems(data).slice(1);
      rest = data.slice(1, data.length - 1);
      if (items.length > 0) this.#last = continued(this.#last, items);
    }
    if (rest.length === 0) return whole;
    if (this.#last !== undefined) whole.push(this.#last);
    if (rest.length > 1) whole.push(rest.slice(0, rest.length - 1));
    this.#last = rest.slice(rest.length - 1, 1);
    return whole;
  }

  end(): readonly Data[] {
    return this.#last === undefined ? [] : [this.#last];
  }
}

function continued(row: Data, items: readonly unknown[]): Data {
  if (!DataType.isList(row.type)) throw new TypeError('a row that is no list');
  return buildData(row.type, [[...firstItems(row), ...items]]);
}

/** Of the first list: those of all others are not looked at. */
function firstItems({ valueOffsets: [start = 0, end = 0], children: [items] }: Data): readonly unknown[] {
  return items === undefined ? [] : valuesOf(items.slice(start, end - start));
}
