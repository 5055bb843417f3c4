import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TablePath } from '../../../../src/model/identifier.ts';
import type { Finding, Remedy, Severity } from '../../../../src/plans/advice.ts';
import { describeRemedy } from '../../../../src/plans/advice.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { ErrorBox } from '../../parts/error-box.tsx';
import { Icon } from '../../parts/icon.tsx';
import { Badge, Meter } from '../../parts/states.tsx';
import { toast } from '../../parts/toasts.tsx';
import { useTask } from '../../parts/use-load.ts';
import { applyRemedy } from './apply-remedy.ts';

interface FindingsProps {
  readonly findings: readonly Finding[];
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
export function Findings({ findings, table, onSettings, onRemedyApplied }: FindingsProps): JSX.Element {
  return (
    <section class="findings" aria-label="Findings">
      <h2>Findings</h2>
      {findings.length === 0 ? (
        <p class="well">
          <Icon name="check" /> Nothing to improve: the plan does what it must, and no more.
        </p>
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

interface RemedyButtonProps extends Omit<FindingsProps, 'findings'> {
  readonly remedy: Remedy;
}

function RemedyButton({ remedy, table, onSettings, onRemedyApplied }: RemedyButtonProps): JSX.Element {
  const client = useClient();
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
    <div class="mend">
      <Button kind="primary" isBusy={task.isRunning} onClick={task.run}>
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
