import { setImmediate as nextTurn } from 'node:timers/promises';
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
  readonly views: Pick<Views, 'start' | 'findSource' | 'isGivenUp'>;
  readonly telemetry: Telemetry;
  readonly limits: Limits['views'];
  readonly now: () => number;
}

const FAILED_MILLISECONDS = 60_000;
/** Pages of views that are checked per poll. */
const PAGES_MAX = 16;

/**
 * Refreshes views that are due. Every node checks all of them in turns, and starts those whose tables it writes. A view
 * has one refresh at a time, and the limits of jobs apply to all together.
 */
export class ViewSchedule {
  readonly #parts: ViewScheduleParts;
  /** Views that are being refreshed, and when failed ones may be retried. */
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

  /** Resolves when everything that is due has been started. */
  async poll(): Promise<void> {
    if (this.#isPolling) return;
    this.#isPolling = true;
    const { catalog, telemetry, now } = this.#parts;
    // Includes views that were dropped.
    for (const [id, time] of this.#notBefore) if (time <= now()) this.#notBefore.delete(id);
    try {
      for (let pages = 0; pages < PAGES_MAX; pages += 1) {
        const { tables, next } = await catalog.tables.listWithProperty(VIEW_PROPERTY, { after: this.#after });
        // The next poll continues after these, and then starts again.
        this.#after = next ?? '';
        for (const view of tables) await this.#refreshIfDue(view).catch((cause: unknown) => this.#failed(view, cause));
        if (next === undefined) break;
        await nextTurn();
      }
    } catch (cause) {
      telemetry.emit({ kind: 'background-failed', task: 'looking for views to refresh', cause });
    } finally {
      this.#isPolling = false;
    }
  }

  async #refreshIfDue(view: TableRecord): Promise<void> {
    const definition = readViewDefinition(view);
    if (definition === undefined || this.#notBefore.has(view.id)) return;
    if (!(await this.#isDue(view, definition)) || !(await this.#parts.writes.owns(view))) return;
    this.#notBefore.set(view.id, Infinity);
    this.#refresh(view).then(
      () => this.#notBefore.delete(view.id),
      () => this.#retryLater(view),
    );
  }

  /** The job reports failures. */
  async #refresh(view: TableRecord): Promise<void> {
    const { outcome } = this.#parts.views.start({
      view,
      isAutomatic: true,
      caller: view.createdBy ?? '',
      requestId: `refresh of ${view.id}`,
    });
    await outcome;
  }

  /** The other views are still checked. */
  #failed(view: TableRecord, cause: unknown): void {
    this.#retryLater(view);
    this.#parts.telemetry.emit({ kind: 'background-failed', task: 'looking at a view to refresh', cause });
  }

  #retryLater({ id }: TableRecord): void {
    this.#notBefore.set(id, this.#parts.now() + FAILED_MILLISECONDS);
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
    return version !== state?.sourceVersion && !(await views.isGivenUp(view));
  }
}
