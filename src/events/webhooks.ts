import { setTimeout as sleep } from 'node:timers/promises';
import type { Catalog, WebhookProgress, WebhookRecord } from '../catalog/catalog.ts';
import { isPermitted } from '../model/access.ts';
import type { Caller } from '../model/access.ts';
import { selectCommits, toCommitFields } from '../model/events/commit.ts';
import type { Commit } from '../model/events/commit.ts';
import type { NamespacePath } from '../model/identifier.ts';
import type { WebhookLimits } from '../model/limits/integration-limits.ts';
import type { Telemetry } from '../telemetry/telemetry.ts';
import type { DeliveryOutcome, WebhookSender } from './send-webhook.ts';
import { findCreator } from './webhook-creator.ts';

export interface WebhooksParts {
  readonly catalog: Pick<
    Catalog,
    'callerNames' | 'clients' | 'databases' | 'keys' | 'onCommit' | 'transactions' | 'webhooks'
  >;
  readonly sender: WebhookSender;
  readonly telemetry: Telemetry;
  readonly limits: WebhookLimits;
  /** Milliseconds since 1970. */
  readonly now: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** How long to collect commits of this process for one delivery. */
const GATHER_MILLISECONDS = 100;

/** The minimum time between writes of a cursor that only skipped unwanted commits. */
const SKIPPED_MILLISECONDS = 10_000;

/** How many pages of the feed are searched for one delivery. */
const PAGES_MAX = 20;

/** The share of the slots that webhooks of one database may use. */
const DATABASE_SHARE = 3 / 4;

const CLOSE_POLL_MILLISECONDS = 10;

const DISOWNED =
  'Its creator was revoked, has expired, or may no longer manage what it is about. Resume it with another credential.';

/**
 * Delivers commits to webhooks, in order, from a cursor in the catalog. Failed attempts are repeated, and what was
 * delivered when the process died is delivered again. One node at a time delivers for a webhook.
 */
export class Webhooks {
  readonly #parts: WebhooksParts;
  /** Webhooks with a running delivery, and their databases. */
  readonly #running = new Map<string, string>();
  /** Cursors past unwanted commits that are not yet in the catalog. */
  readonly #skipped = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;
  #wakeTimer: NodeJS.Timeout | undefined;
  #unsubscribe: (() => void) | undefined;
  #isLooking = false;
  #closing: Promise<void> | undefined;
  readonly #ended = new AbortController();

  constructor(parts: WebhooksParts) {
    this.#parts = parts;
  }

  get running(): number {
    return this.#running.size;
  }

  start(): void {
    const { catalog, limits } = this.#parts;
    if (this.#timer !== undefined || this.#closing !== undefined) return;
    this.#timer = setInterval(() => void this.#look(), limits.pollSeconds * 1000).unref();
    this.#unsubscribe = catalog.onCommit(() => this.#wake());
  }

  /** Aborts running deliveries; another node, or the next start, repeats them. */
  async close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  async #close(): Promise<void> {
    this.#ended.abort();
    clearInterval(this.#timer);
    clearTimeout(this.#wakeTimer);
    this.#unsubscribe?.();
    while (this.#running.size > 0 || this.#isLooking) await sleep(CLOSE_POLL_MILLISECONDS);
    if (this.#timer !== undefined) await this.#parts.catalog.webhooks.releaseAll().catch(() => {});
  }

  /** Sends a delivery without events now, whatever the webhook's state. */
  async test(webhook: WebhookRecord, database: string): Promise<DeliveryOutcome> {
    return this.#send(webhook, `test-${this.#parts.now()}`, { database, events: [], test: true });
  }

  /** The caller on whose behalf it delivers; `undefined` if that caller may no longer manage its target. */
  async findCreator(
    webhook: Pick<WebhookRecord, 'createdBy' | 'scope'>,
    database: string,
  ): Promise<Caller | undefined> {
    return findCreator(webhook, database, this.#parts);
  }

  #wake(): void {
    this.#wakeTimer ??= setTimeout(() => {
      this.#wakeTimer = undefined;
      void this.#look();
    }, GATHER_MILLISECONDS).unref();
  }

  async #look(): Promise<void> {
    if (this.#isLooking || this.#ended.signal.aborted) return;
    this.#isLooking = true;
    const { catalog, telemetry } = this.#parts;
    try {
      const due = await catalog.webhooks.listDue();
      const newest = due.length === 0 ? '' : ((await catalog.transactions.newestId()) ?? '');
      for (const webhook of due) {
        if (this.#ended.signal.aborted) break;
        if (this.#running.has(webhook.id) || this.#cursorOf(webhook) >= newest || this.#isCrowded(webhook)) continue;
        if (await catalog.webhooks.claim(webhook)) void this.#deliver(webhook);
      }
    } catch (cause) {
      telemetry.emit({ kind: 'background-failed', task: 'looking for webhooks to deliver', cause });
    } finally {
      this.#isLooking = false;
    }
  }

  /** Whether all slots are taken, or all that one database may use. */
  #isCrowded({ databaseId }: WebhookRecord): boolean {
    const { runningMax } = this.#parts.limits;
    const own = [...this.#running.values()].filter((each) => each === databaseId).length;
    return this.#running.size >= runningMax || own >= Math.max(1, Math.floor(runningMax * DATABASE_SHARE));
  }

  #cursorOf({ id, cursor }: WebhookRecord): string {
    const skipped = this.#skipped.get(id) ?? '';
    return skipped > cursor ? skipped : cursor;
  }

  /** Delivers until there is nothing more, a delivery fails, others wait, or another node has taken over. */
  async #deliver(webhook: WebhookRecord): Promise<void> {
    this.#running.set(webhook.id, webhook.databaseId);
    try {
      const database = (await this.#parts.catalog.databases.list()).find(({ id }) => id === webhook.databaseId);
      // A webhook is deleted with its database.
      if (database === undefined) return;
      let current: WebhookRecord | undefined = webhook;
      while (current?.state === 'active' && !this.#ended.signal.aborted) {
        current = await this.#deliverOnce(current, database.name);
        if (this.#isCrowded(webhook)) break;
      }
    } catch (cause) {
      this.#parts.telemetry.emit({ kind: 'background-failed', task: 'delivering to a webhook', cause });
    } finally {
      const isCrowded = this.#isCrowded(webhook);
      this.#running.delete(webhook.id);
      if (isCrowded) this.#wake();
    }
  }

  /** The webhook afterwards, possibly updated or disabled; `undefined` if there is nothing more to do for now. */
  async #deliverOnce(webhook: WebhookRecord, database: string): Promise<WebhookRecord | undefined> {
    const { catalog, now } = this.#parts;
    const creator = await this.findCreator(webhook, database);
    if (creator === undefined) {
      await this.#disown(webhook);
      return undefined;
    }
    const mayRead = (path: NamespacePath): boolean => isPermitted(creator, 'read', database, path);
    const { commits, position } = await this.#collect(webhook, mayRead);
    if (commits.length === 0) {
      await this.#skip(webhook, position);
      return undefined;
    }
    const last = commits.at(-1)?.id ?? webhook.cursor;
    const names = await catalog.callerNames(commits.map(({ caller }) => caller));
    const events = commits.map((commit) => ({ ...toCommitFields(commit, names), database }));
    const outcome = await this.#send(webhook, last, { database, events });
    if (outcome.error !== undefined && this.#ended.signal.aborted) return undefined;
    const changes =
      outcome.error === undefined ? this.#delivered(webhook, outcome, events.length) : this.#failed(webhook, outcome);
    const cursor = outcome.error === undefined ? last : webhook.cursor;
    const isKept = await catalog.webhooks.progress(webhook.id, { ...changes, attemptedAt: now(), cursor });
    if (outcome.error === undefined) this.#skipped.delete(webhook.id);
    return isKept && outcome.error === undefined ? catalog.webhooks.find(webhook.id) : undefined;
  }

  /** The next wanted commits, and how far the feed was searched. */
  async #collect(
    webhook: WebhookRecord,
    mayRead: (path: NamespacePath) => boolean,
  ): Promise<{ commits: readonly Commit[]; position: string }> {
    const { catalog, limits } = this.#parts;
    const { table, namespace, operations = [] } = webhook.scope;
    const filter = {
      tables: table === undefined ? [] : [table],
      namespaces: namespace === undefined ? [] : [namespace],
      operations,
    };
    let position = this.#cursorOf(webhook);
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const { databaseId } = webhook;
      const found = await catalog.transactions.list({ databaseId, after: position, limit: limits.eventsMax });
      const commits = selectCommits(found, filter, mayRead);
      if (commits.length > 0) return { commits, position };
      position = found.at(-1)?.id ?? position;
      if (found.length < limits.eventsMax) break;
    }
    return { commits: [], position };
  }

  async #skip(webhook: WebhookRecord, position: string): Promise<void> {
    if (position <= webhook.cursor) return;
    const { catalog, now } = this.#parts;
    this.#skipped.set(webhook.id, position);
    if (now() - (webhook.attemptedAt ?? webhook.createdAt) < SKIPPED_MILLISECONDS) return;
    await catalog.webhooks.progress(webhook.id, { cursor: position, attemptedAt: now() });
    this.#skipped.delete(webhook.id);
  }

  async #disown(webhook: WebhookRecord): Promise<void> {
    const { catalog, telemetry } = this.#parts;
    const isDisabled = await catalog.webhooks.disown(webhook, DISOWNED);
    if (isDisabled) telemetry.emit({ kind: 'webhook-disabled', webhookId: webhook.id, failures: webhook.failures });
  }

  async #send({ id: webhookId, url, secret }: WebhookRecord, id: string, content: object): Promise<DeliveryOutcome> {
    const { sender, telemetry } = this.#parts;
    const startedAt = performance.now();
    const body = JSON.stringify({ webhook_id: webhookId, ...content });
    const outcome = await sender.send({ url, secret, id, body }, this.#ended.signal);
    const milliseconds = performance.now() - startedAt;
    const result = outcome.error === undefined ? 'delivered' : 'failed';
    telemetry.emit({ kind: 'webhook-attempted', webhookId, outcome: result, status: outcome.status, milliseconds });
    return outcome;
  }

  #delivered(webhook: WebhookRecord, { status }: DeliveryOutcome, events: number): WebhookProgress {
    return {
      failures: 0,
      failingSince: null,
      nextAttemptAt: 0,
      deliveredAt: this.#parts.now(),
      deliveredEvents: webhook.deliveredEvents + events,
      lastStatus: status ?? null,
      lastError: null,
    };
  }

  #failed(webhook: WebhookRecord, { status, error = '' }: DeliveryOutcome): WebhookProgress {
    const { limits, telemetry, now, random } = this.#parts;
    const failures = webhook.failures + 1;
    const failingSince = webhook.failingSince ?? now();
    const seconds = Math.min(limits.retrySecondsMax, 2 ** Math.min(failures - 1, 30));
    const isGivenUp = now() - failingSince >= limits.disableSeconds * 1000;
    if (isGivenUp) telemetry.emit({ kind: 'webhook-disabled', webhookId: webhook.id, failures });
    return {
      // Otherwise unchanged: a caller may have disabled it during the attempt.
      ...(isGivenUp ? { state: 'disabled' } : {}),
      failures,
      failingSince,
      // With jitter, so that a receiver of many webhooks does not get all requests at once.
      nextAttemptAt: Math.round(now() + seconds * 1000 * (0.75 + random() / 2)),
      lastStatus: status ?? null,
      lastError: error,
    };
  }
}
