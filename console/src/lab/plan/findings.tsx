import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TablePath } from '../../../../src/model/identifier.ts';
import type { Finding, Remedy, Severity } from '../../../../src/plans/advice.ts';
import { describeRemedy } from '../../../../src/plans/advice.ts';
import { formatShare } from '../../../../src/plans/format-figure.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Badge, Meter } from '../../parts/states.tsx';
import { toast } from '../../parts/toasts.tsx';
import { useTask } from '../../parts/use-load.ts';
import { usePermissions } from '../../who.tsx';
import type { Refusals } from '../../who.tsx';
import { applyRemedy } from './apply-remedy.ts';

interface FindingsProps {
  readonly findings: readonly Finding[];
  /** Compared with an exact search; absent if none was run. */
  readonly recall: number | undefined;
  readonly table: TablePath;
  readonly onSettings: (remedy: Extract<Remedy, { kind: 'set' }>) => void;
  /** Called after a remedy changed the table. */
  readonly onRemedyApplied: () => void;
}

const LOOKS: Readonly<Record<Severity, { kind: 'bad' | 'warn' | 'plain'; word: string }>> = {
  serious: { kind: 'bad', word: 'Serious' },
  notable: { kind: 'warn', word: 'Notable' },
  hint: { kind: 'plain', word: 'Hint' },
};

/** Findings, each with a button that applies its remedy. */
export function Findings({ findings, recall, table, onSettings, onRemedyApplied }: FindingsProps): JSX.Element {
  return (
    <section class="findings" aria-label="Findings">
      <h2>Findings</h2>
      {findings.length === 0 ? (
        <NoFindings recall={recall} />
      ) : (
        <ul>
          {findings.map((finding) => (
            <li key={`${finding.kind} ${finding.title}`} class={finding.severity}>
              <Badge kind={LOOKS[finding.severity].kind}>{LOOKS[finding.severity].word}</Badge>
              <h3>{finding.title}</h3>
              <p>{finding.seen}</p>
              <p class="hint">{finding.why}</p>
              {finding.remedy === undefined ? null : (
                <RemedyButton
                  remedy={finding.remedy}
                  table={table}
                  onSettings={onSettings}
                  onRemedyApplied={onRemedyApplied}
                />
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

const RECALL_GOOD = 0.9;

/** A plan can be efficient and still miss rows. */
function NoFindings({ recall }: Pick<FindingsProps, 'recall'>): JSX.Element {
  if (recall !== undefined && recall < RECALL_GOOD) {
    return (
      <p class="well low">
        <Icon name="warning" /> The search found {formatShare(recall)} of the rows of an exact search. Raise nprobes or
        the refine factor, or compare with an exact search.
      </p>
    );
  }
  return (
    <p class="well">
      <Icon name="check" /> No problems found in this plan.
    </p>
  );
}

interface RemedyButtonProps extends Omit<FindingsProps, 'findings' | 'recall'> {
  readonly remedy: Remedy;
}

function RemedyButton({ remedy, table, onSettings, onRemedyApplied }: RemedyButtonProps): JSX.Element {
  const client = useClient();
  const refusals = usePermissions(table);
  const [phase, setPhase] = useState('');
  const unmounted = useRef(new AbortController());
  useEffect(() => () => unmounted.current.abort(), []);
  const task = useTask(async () => {
    if (remedy.kind === 'set') return onSettings(remedy);
    await applyRemedy(client, table, remedy, { onPhase: setPhase, signal: unmounted.current.signal });
    toast(`Done: ${describeRemedy(remedy)}.`);
    onRemedyApplied();
  });
  return (
    <div class="fix">
      <Button kind="primary" isBusy={task.isRunning} refusal={refusalOf(remedy, refusals)} onClick={task.run}>
        {describeRemedy(remedy)}
      </Button>
      {task.isRunning && remedy.kind !== 'set' ? (
        <div role="status">
          <Meter label={describeRemedy(remedy)} />
          <span class="hint">{phase}</span>
        </div>
      ) : null}
      <ErrorBox error={task.error} />
    </div>
  );
}

/** Other settings need no role, because the query is only run again. */
function refusalOf({ kind }: Remedy, { read, write, manage }: Refusals): string | undefined {
  switch (kind) {
    case 'set':
    case 'prewarm-index':
      return read;
    case 'create-index':
      return write;
    case 'refresh-index':
    case 'merge-fragments':
      return manage;
  }
}
