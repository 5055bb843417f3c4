import type { JSX } from 'preact';
import { CheckField, SelectField, TextField } from '../../parts/forms/field.tsx';
import { FilterField } from './filter-field.tsx';
import type { FormProps } from './lab-form.ts';
import { faultAt, searchedColumn } from './query-body.ts';
import { StateFields } from './state-fields.tsx';
import { DistanceField, VectorColumnField } from './vector-fields.tsx';

const POOLINGS = [
  { value: '', label: 'mean of the vectors' },
  { value: 'first', label: 'first vector' },
];

/** Only for columns with several vectors per row. */
function PoolingField({ form, facts, onChange }: FormProps): JSX.Element | null {
  if (searchedColumn(form, facts)?.type.type !== 'list') return null;
  return (
    <SelectField
      label="Point of a row"
      value={form.pool}
      options={POOLINGS}
      onChange={(pool) => onChange({ pool })}
      hint="Rows of this column have several vectors."
    />
  );
}

/** Which rows are on the map, and how neighbours are searched for. */
export function MapFields(props: FormProps): JSX.Element {
  const { form, facts, onChange, error } = props;
  return (
    <div class="stack">
      <p class="hint">Each point is a row. Rows with similar vectors are close to each other.</p>
      <VectorColumnField {...props} />
      <PoolingField {...props} />
      <SelectField
        label="Colour by"
        value={form.colour}
        options={[{ value: '', label: 'nothing' }, ...facts.colourColumns.map((value) => ({ value }))]}
        onChange={(colour) => onChange({ colour })}
      />
      <FilterField {...props} />
      <TextField
        label="Points"
        value={form.points}
        onChange={(points) => onChange({ points })}
        hint="Of a larger table, rows are taken at even intervals."
        fault={faultAt('points', error)}
        isNumber
      />
      <fieldset>
        <legend>Neighbours</legend>
        <div class="columns">
          <TextField
            label="Rows (k)"
            value={form.k}
            onChange={(k) => onChange({ k })}
            fault={faultAt('k', error)}
            isNumber
          />
          <DistanceField {...props} />
        </div>
        <CheckField
          label="Exact: search every row"
          isChecked={form.exact !== ''}
          onChange={(isChecked) => onChange({ exact: isChecked ? '1' : '' })}
        />
      </fieldset>
      <StateFields {...props} />
    </div>
  );
}
