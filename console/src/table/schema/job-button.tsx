import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { waitForJob } from '../../../../src/client/calls.ts';
import { useClient } from '../../api.ts';
import { Button } from '../../parts/button.tsx';
import { toast, toastError } from '../../parts/toasts.tsx';

interface JobButtonProps {
  readonly label: string;
  /** Shown when the job is done. */
  readonly done: string;
  readonly start: () => Promise<{ readonly job_id: string }>;
  readonly onDone: () => void;
  readonly refusal?: string | undefined;
}

/** Starts a job, and shows its progress until it ends. */
export function JobButton({ label, done, start, onDone, refusal }: JobButtonProps): JSX.Element {
  const client = useClient();
  const [phase, setPhase] = useState<string>();
  const run = async (): Promise<void> => {
    setPhase('waiting');
    try {
      const { job_id: id } = await start();
      const job = await waitForJob(client, id, { onProgress: (state) => setPhase(state.phase) });
      if (job.failure !== undefined) throw new Error(job.failure.message);
      if (job.job_state === 'DONE') toast(done);
      onDone();
    } catch (error) {
      toastError(error);
    } finally {
      setPhase(undefined);
    }
  };
  return (
    <>
      <Button isBusy={phase !== undefined} refusal={refusal} onClick={() => void run()}>
        {label}
      </Button>
      {phase === undefined ? null : (
        <span class="muted" role="status">
          {phase}
        </span>
      )}
    </>
  );
}
