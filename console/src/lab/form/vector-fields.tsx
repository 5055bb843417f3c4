import type { JSX } from 'preact';
import { findDimension } from '../../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../../src/plans/table-facts.ts';
import { Button } from '../../parts/button.tsx';
import { Field, SelectField, TextField, Segments } from '../../parts/forms/field.tsx';
import { SqlBox } from '../../parts/forms/sql-box.tsx';
import type { FormProps } from './lab-form.ts';
import { searchedColumn } from './query-body.ts';

const SOURCES = [
  ['random', 'Random'],
  ['row', 'Like a row'],
  ['paste', 'Paste'],
] as const;

const DISTANCES = ['', 'l2', 'cosine', 'dot', 'hamming'];

export function VectorFields({ form, facts, onChange, onRun }: FormProps): JSX.Element {
  const column = searchedColumn(form, facts);
  const dimension = column === undefined ? 0 : (findDimension(column.type) ?? 0);
  return (
    <fieldset>
      <legend>Vector</legend>
      {facts.vectorColumns.length > 1 ? (
        <SelectField
          label="Column"
          value={column?.path ?? ''}
          options={facts.vectorColumns.map(({ path }) => ({ value: path }))}
          onChange={(path) => onChange({ column: path })}
        />
      ) : null}
      <Segments
        label="Where the vector comes from"
        value={form.source}
        options={SOURCES}
        onChange={(source) => onChange({ source })}
      />
      {form.source === 'random' ? (
        <div class="joined">
          <TextField label="Seed" value={form.seed} onChange={(seed) => onChange({ seed })} isNumber />
          <Button
            icon="refresh"
            label="Another vector"
            onClick={() => onChange({ seed: String(Number(form.seed) + 1) })}
          />
        </div>
      ) : null}
      {form.source === 'row' ? (
        <SqlBox
          label="Like the row where"
          value={form.like}
          onChange={(like) => onChange({ like })}
          onSubmit={onRun}
          placeholder="id = 7"
          place="filter"
          fields={facts.columns.map(({ path }) => path)}
        />
      ) : null}
      {form.source === 'paste' ? (
        <Field label={`${dimension} numbers`} hint={`Or ${dimension} for each of several vectors.`}>
          {({ id, hintId }) => (
            <textarea
              id={id}
              aria-describedby={hintId}
              class="mono"
              rows={3}
              value={form.paste}
              placeholder="[0.1, 0.2, …]"
              onInput={(event) => onChange({ paste: event.currentTarget.value })}
            />
          )}
        </Field>
      ) : null}
      <div class="columns">
        {form.source === 'paste' ? null : (
          <TextField
            label="How many vectors"
            value={form.vectors}
            onChange={(vectors) => onChange({ vectors })}
            isNumber
          />
        )}
        <SelectField
          label="Distance"
          value={form.distance}
          options={DISTANCES.map((value) => ({ value, label: value === '' ? 'of the index' : value }))}
          onChange={(distance) => onChange({ distance })}
        />
      </div>
      {form.source === 'paste' || form.vectors === '1' || form.vectors === '' ? null : (
        <p class="hint">{manyWords(column)}</p>
      )}
    </fieldset>
  );
}

/** One search in a multi-vector column, else one search for each vector. */
function manyWords(column: ColumnFact | undefined): string {
  return column?.type.type === 'list'
    ? 'One search: each finds its nearest in the vectors of a row.'
    : 'One search each; query_index tells which found the row.';
}
