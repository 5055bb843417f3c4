import type { ComponentType, JSX } from 'preact';
import { findDimension } from '../../../../src/plans/table-facts.ts';
import type { ColumnFact } from '../../../../src/plans/table-facts.ts';
import { Button } from '../../parts/button.tsx';
import { Field, SelectField, TextField, Segments } from '../../parts/forms/field.tsx';
import { SqlBox } from '../../parts/forms/sql-box.tsx';
import { SOURCES as SOURCE_NAMES } from './lab-form.ts';
import type { FormProps, VectorSource } from './lab-form.ts';
import { MeaningFields } from './meaning-fields.tsx';
import { faultAt, searchedColumn } from './query-body.ts';

interface SourceFields {
  readonly label: string;
  readonly Fields: ComponentType<FormProps>;
}

/** The sources of the query vector; `findVectors` has a case for each. */
const SOURCES: Readonly<Record<VectorSource, SourceFields>> = {
  random: { label: 'Random', Fields: RandomFields },
  row: { label: 'Like a row', Fields: RowFields },
  meaning: { label: 'Meaning', Fields: MeaningFields },
  paste: { label: 'Paste', Fields: PasteFields },
};

/** A link may name a source that the server does not offer. */
function listSources({ form, facts }: FormProps): readonly (readonly [VectorSource, string])[] {
  const isOffered = facts.embeddingModels.length > 0 || form.source === 'meaning';
  return SOURCE_NAMES.filter((source) => source !== 'meaning' || isOffered).map((source) => [
    source,
    SOURCES[source].label,
  ]);
}

const DISTANCES = ['', 'l2', 'cosine', 'dot', 'hamming'];

export function VectorFields(props: FormProps): JSX.Element {
  const { form, facts, onChange, error } = props;
  const column = searchedColumn(form, facts);
  const { Fields } = SOURCES[form.source];
  const isCounted = form.source === 'random' || form.source === 'row';
  return (
    <fieldset>
      <legend>Vector</legend>
      <VectorColumnField {...props} />
      <Segments
        label="Vector source"
        value={form.source}
        options={listSources(props)}
        onChange={(source) => onChange({ source })}
      />
      <Fields {...props} />
      <div class="columns">
        {isCounted ? (
          <TextField
            label="Number of vectors"
            value={form.vectors}
            onChange={(vectors) => onChange({ vectors })}
            fault={faultAt('vectors', error)}
            isNumber
          />
        ) : null}
        <DistanceField {...props} />
      </div>
      {!isCounted || form.vectors === '1' || form.vectors === '' ? null : <p class="hint">{manyWords(column)}</p>}
    </fieldset>
  );
}

type PartProps = Pick<FormProps, 'form' | 'facts' | 'onChange'>;

export function VectorColumnField({ form, facts, onChange }: PartProps): JSX.Element | null {
  if (facts.vectorColumns.length < 2) return null;
  return (
    <SelectField
      label="Vector column"
      value={searchedColumn(form, facts)?.path ?? ''}
      options={facts.vectorColumns.map(({ path }) => ({ value: path }))}
      onChange={(path) => onChange({ column: path })}
    />
  );
}

export function DistanceField({ form, onChange }: Pick<PartProps, 'form' | 'onChange'>): JSX.Element {
  return (
    <SelectField
      label="Distance"
      value={form.distance}
      options={DISTANCES.map((value) => ({ value, label: value === '' ? 'default' : value }))}
      onChange={(distance) => onChange({ distance })}
    />
  );
}

function RandomFields({ form, onChange, error }: FormProps): JSX.Element {
  return (
    <div class="joined">
      <TextField
        label="Seed"
        value={form.seed}
        onChange={(seed) => onChange({ seed })}
        fault={faultAt('seed', error)}
        isNumber
      />
      <Button
        icon="refresh"
        label="Another random vector"
        onClick={() => onChange({ seed: String(Number(form.seed) + 1) })}
      />
    </div>
  );
}

function RowFields({ form, facts, onChange, onRun }: FormProps): JSX.Element {
  return (
    <SqlBox
      label="Like the row where"
      value={form.like}
      onChange={(like) => onChange({ like })}
      onSubmit={onRun}
      placeholder="id = 7"
      place="filter"
      fields={facts.columns.map(({ path }) => path)}
    />
  );
}

function PasteFields({ form, facts, onChange, error }: FormProps): JSX.Element {
  const column = searchedColumn(form, facts);
  const dimension = column === undefined ? 0 : (findDimension(column.type) ?? 0);
  return (
    <Field
      label={`${dimension} numbers`}
      hint={`Or ${dimension} for each of several vectors.`}
      fault={faultAt('paste', error)}
    >
      {({ id, hintId }) => (
        <textarea
          id={id}
          aria-describedby={hintId}
          aria-invalid={faultAt('paste', error) !== undefined}
          class="mono"
          rows={3}
          value={form.paste}
          placeholder="[0.1, 0.2, …]"
          onInput={(event) => onChange({ paste: event.currentTarget.value })}
        />
      )}
    </Field>
  );
}

/** One search in a multi-vector column, otherwise one search per vector. */
function manyWords(column: ColumnFact | undefined): string {
  return column?.type.type === 'list'
    ? 'One search: each vector is compared with all vectors of a row.'
    : 'One search per vector; query_index shows which vector found the row.';
}
