import type { JSX } from 'preact';
import { ErrorBox } from '../parts/error-box.tsx';
import { Skeleton } from '../parts/states.tsx';
import { useLoad } from '../parts/use-load.ts';
import type { LabQuery } from './run-lab.ts';

/** Loads the code of the map on first use. */
export function MapPane(props: LabQuery): JSX.Element {
  const loaded = useLoad(async () => import('../map/vector-map.tsx'), []);
  if (loaded.value === undefined) return loaded.error === undefined ? <Skeleton /> : <ErrorBox error={loaded.error} />;
  return <loaded.value.VectorMap {...props} />;
}
