export interface GridPlace {
  readonly row: number;
  readonly column: number;
}

/** The cell that an element is in. */
export function placeOf(element: unknown): GridPlace | undefined {
  const cell = element instanceof Element ? element.closest<HTMLElement>('[data-cell]') : null;
  const [row, column] = (cell?.dataset['cell'] ?? '').split(':').map(Number);
  return row === undefined || column === undefined ? undefined : { row, column };
}

interface GridSize {
  readonly rows: number;
  readonly columns: number;
}

const PAGE_ROWS = 10;

/** `undefined` for keys that do not move the focus. */
export function moveInGrid(event: KeyboardEvent, from: GridPlace, size: GridSize): GridPlace | undefined {
  const step = stepOf(event, size);
  if (step === undefined) return undefined;
  return {
    row: within(from.row + step.row, size.rows),
    column: within(from.column + step.column, size.columns),
  };
}

function stepOf({ key, ctrlKey }: KeyboardEvent, { rows, columns }: GridSize): GridPlace | undefined {
  switch (key) {
    case 'ArrowDown':
      return { row: 1, column: 0 };
    case 'ArrowUp':
      return { row: -1, column: 0 };
    case 'ArrowRight':
      return { row: 0, column: 1 };
    case 'ArrowLeft':
      return { row: 0, column: -1 };
    case 'PageDown':
      return { row: PAGE_ROWS, column: 0 };
    case 'PageUp':
      return { row: -PAGE_ROWS, column: 0 };
    case 'Home':
      return { row: ctrlKey ? -rows : 0, column: -columns };
    case 'End':
      return { row: ctrlKey ? rows : 0, column: columns };
    default:
      return undefined;
  }
}

function within(index: number, count: number): number {
  return Math.max(0, Math.min(index, count - 1));
}
