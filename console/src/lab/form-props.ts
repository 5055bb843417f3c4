import type { LabForm } from './lab-form.ts';
import type { TableFacts } from './table-facts.ts';

/** What every part of the lab's form is given. */
export interface FormProps {
  readonly form: LabForm;
  readonly facts: TableFacts;
  readonly onChange: (change: Partial<LabForm>) => void;
  readonly onRun: () => void;
  readonly error: unknown;
}
