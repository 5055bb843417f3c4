import type { JSX } from 'preact';
import { useId } from 'preact/hooks';

interface SegmentsProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly (readonly [Value, string])[];
  readonly onChange: (value: Value) => void;
}

/** One of a few, side by side. */
export function Segments<Value extends string>(props: SegmentsProps<Value>): JSX.Element {
  const { label, value, options, onChange } = props;
  const name = useId();
  return (
    <div class="segments" role="radiogroup" aria-label={label}>
      {options.map(([each, words]) => (
        <label key={each}>
          <input type="radio" name={name} checked={each === value} onChange={() => onChange(each)} />
          <span>{words}</span>
        </label>
      ))}
    </div>
  );
}
