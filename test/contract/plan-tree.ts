import assert from 'node:assert/strict';
import type { Answer, Client } from '../support/client.ts';
import type { MadeTable } from './contract-server.ts';

export interface Step {
  readonly operator: string;
  readonly details: string;
  readonly metrics: Readonly<Record<string, { readonly value: number; readonly unit: string; readonly text: string }>>;
  readonly children: readonly Step[];
}

/** An analysis that succeeded, as text and as a tree. */
export interface Plan {
  readonly text: string;
  readonly root: Step;
  /** How many rows the query gave. */
  readonly rows: number;
}

export const PLAN_TYPE = 'application/vnd.tiltyard.plan+json';

export async function analyze(client: Client, table: Pick<MadeTable, 'at'>, body: object): Promise<Answer> {
  return client.post(`${table.at}/analyze_plan`, body);
}

export async function planOf(client: Client, table: Pick<MadeTable, 'at'>, body: object): Promise<Plan> {
  const answer = await client.post(`${table.at}/analyze_plan`, body, { accept: PLAN_TYPE });
  assert.equal(answer.status, 200, answer.text);
  const { text, plan } = answer.json;
  return { text, root: plan, rows: outputRows(plan) ?? assert.fail(`no step counts rows: ${text}`) };
}

export function steps(root: Step): readonly Step[] {
  return [root, ...root.children.flatMap(steps)];
}

/** Of the outermost step that counts them. */
export function outputRows(root: Step): number | undefined {
  return steps(root).find((step) => step.metrics['output_rows'] !== undefined)?.metrics['output_rows']?.value;
}
