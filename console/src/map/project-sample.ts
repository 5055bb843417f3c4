import { findComponents, projectVector } from '../../../src/vectors/principal-components.ts';
import type { Matrix, Projection } from '../../../src/vectors/principal-components.ts';
import type { LabForm } from '../lab/form/lab-form.ts';
import type { Lab } from '../lab/run-lab.ts';
import { loadSample } from './load-sample.ts';
import type { Sample } from './load-sample.ts';
import type { Places } from './viewport.ts';

export interface MappedSample {
  readonly sample: Sample;
  readonly projection: Projection;
  readonly places: Places;
  /** The index of the point with a row id. */
  readonly indexOf: ReadonlyMap<string, number>;
}

interface Progress {
  readonly signal: AbortSignal;
  /** From 0, while rows are being read, to 1. */
  readonly onProgress: (share: number) => void;
}

export async function projectSample(lab: Lab, form: LabForm, progress: Progress): Promise<MappedSample> {
  progress.onProgress(0);
  const sample = await loadSample(lab, form, progress.signal);
  const projection = await project(sample.matrix, progress);
  const { matrix, rowIds } = sample;
  const points = rowIds.map((_id, at) =>
    projectVector(projection, matrix.values.subarray(at * matrix.columns, (at + 1) * matrix.columns)),
  );
  return {
    sample,
    projection,
    places: { x: Float64Array.from(points, ([x]) => x), y: Float64Array.from(points, ([, y]) => y) },
    indexOf: new Map(rowIds.map((id, at) => [id, at])),
  };
}

const SLICE_MILLISECONDS = 12;

/** In slices, so that the page stays responsive. */
async function project(matrix: Matrix, { signal, onProgress }: Progress): Promise<Projection> {
  const steps = findComponents(matrix);
  let start = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (performance.now() - start < SLICE_MILLISECONDS) continue;
    onProgress(step.value);
    await new Promise((resolve) => setTimeout(resolve));
    signal.throwIfAborted();
    start = performance.now();
  }
}
