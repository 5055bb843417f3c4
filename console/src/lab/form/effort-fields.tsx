import type { JSX } from 'preact';
import { CheckField, TextField } from '../../parts/forms/field.tsx';

/** Search effort, as text. */
export interface Effort {
  readonly nprobes: string;
  readonly refine: string;
  readonly ef: string;
  readonly prefilter: string;
  readonly exact: string;
}

interface EffortFieldsProps {
  readonly effort: Effort;
  /** Distinguishes two sets of fields, such as ` of B`. */
  readonly whose?: string;
  readonly onChange: (change: Partial<Effort>) => void;
}

const NUMBERS = [
  ['nprobes', 'auto'],
  ['refine', 'none'],
  ['ef', 'auto'],
] as const;

export function EffortFields({ effort, whose = '', onChange }: EffortFieldsProps): JSX.Element {
  return (
    <>
      <div class="columns three">
        {NUMBERS.map(([name, usual]) => (
          <TextField
            key={name}
            label={`${name}${whose}`}
            value={effort[name]}
            placeholder={usual}
            onChange={(text) => onChange({ [name]: text })}
            isNumber
          />
        ))}
      </div>
      <CheckField
        label={`Filter before the search${whose}`}
        isChecked={effort.prefilter !== ''}
        onChange={(isChecked) => onChange({ prefilter: isChecked ? '1' : '' })}
      />
      <CheckField
        label={`Exact: search every row${whose}`}
        isChecked={effort.exact !== ''}
        onChange={(isChecked) => onChange({ exact: isChecked ? '1' : '' })}
      />
    </>
  );
}
