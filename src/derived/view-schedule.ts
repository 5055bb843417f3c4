import type { Catalog } from '../catalog/catalog.ts';
import type { Engine } from '../engine/engine.ts';
import { VIEW_PROPERTY, readViewDefinition, readViewState } from '../model/derived/view.ts';
import type { ViewDefinition } from '../model/derived/view.ts';
import type { Limits } from '../model/limits.ts';
import { toTableState } from '../model/table.ts';
import type { TableRecord } from '../model/table.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { Writes } from '../writes/writes.ts';
import type { Views } from './views.ts';

export interface ViewScheduleParts {
  readonly engine: Pick<Engine, 'describeTable'>;
  readonly catalog: Pick<Catalog, 'tables'>;
  readonly writes: Pick<Writes, 'owns'>;
  readonly views: Pick<Views, 'start' | 'findSource'>;
  readonly telemetry: Telemetry;
  readonly limits: Limits['views'];
  readonly now: () => number;
}

const FAILED_MILLISECONDS = 60_000;
/** Views that are looked at in one go. */
const POLLED_MAX = 1000;

/**
 * Refreshes views that are due. Every node looks at all of them in turns, and starts those whose tables it writes; a view
 * has one refresh at a time, and the bounds of jobs hold for all together.
 */
export class ViewSchedule {
  readonly #parts: ViewScheduleParts;
  /** Views that are being refreshed, and when those that failed may be tried again. */
  readonly #notBefore = new Map<string, number>();
  #after = '';
  #timer: NodeJS.Timeout | undefined;
  #isPolling = false;

  constructor(parts: ViewScheduleParts) {
    this.#parts = parts;
  }

  start(): void {
    const { pollSeconds } = this.#parts.limits;
    if (pollSeconds > 0) this.#timer ??= setInterval(() => void this.poll(), pollSeconds * 1000).unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  /** Resolves when all that is due has been started. */
  async poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    const { catalog, telemetry } = this.#parts;
    try {
      const views = await catalog.tables.listWithProperty(VIEW_PROPERTY, {
        after: this.#after,
        limit: POLLED_MAX,
      });
      // The next time goes on behind these, and then begins again.
      this.#after = views.length < POLLED_MAX ? '' : (views.at(-1)?.id ?? '');
      for (const view of views) await this.#refreshIfDue(view);
    } catch (cause) {
      telemetry.emit({ kind: 'background-failed', task: 'looking for views to refresh', cause });
    } finally {
      this.#isPolling = false;
    }
  }

  async #refreshIfDue(view: TableRecord): Promise<void> {
    const { writes, views, now } = this.#parts;
    const definition = readViewDefinition(view);
    if (definition === undefined || (this.#notBefore.get(view.id) ?? 0) > now()) return;
    if (!(await this.#isDue(view, definition)) || !(await writes.owns(view))) return;
    const caller = view.createdBy ?? '';
    this.#notBefore.set(view.id, Infinity);
    const requestId = `refresh of ${view.id}`;
    const { outcome } = views.start({ view, sourceVersion: undefined, caller, requestId });
    outcome.then(
      () => this.#notBefore.delete(view.id),
      () => this.#notBefore.set(view.id, now() + FAILED_MILLISECONDS),
    );
  }

  async #isDue(view: TableRecord, definition: ViewDefinition): Promise<boolean> {
    const { engine, views, limits, now } = this.#parts;
    const { refresh } = definition;
    if (refresh.mode === 'manual') return false;
    const state = readViewState(view);
    const seconds = Math.max(limits.intervalSecondsMin, refresh.mode === 'schedule' ? refresh.seconds : 0);
    if (state !== undefined && now() - state.refreshedAt < seconds * 1000) return false;
    const source = await views.findSource(definition);
    if (source === undefined) return false;
    const { version } = await engine.describeTable(toTableState(source, {}));
    return version !== state?.sourceVersion;
  }
}
