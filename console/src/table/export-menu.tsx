import type { JSX } from 'preact';
import type { GridSort } from '../parts/grid-head.tsx';
import type { DescribedTable } from './described-table.ts';

interface ExportMenuProps {
  readonly table: DescribedTable;
  readonly filter: string;
  readonly sort: GridSort | undefined;
}

export function ExportMenu(_props: ExportMenuProps): JSX.Element | null {
  return null;
}
