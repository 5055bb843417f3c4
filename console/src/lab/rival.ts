import type { QueryTableBody } from '../../../src/wire/data.ts';
import { FormFault } from './query-body.ts';
import type { LabForm } from './lab-form.ts';

/** The query that the form's own is compared with: the same but for what the form says. */
export function toRivalForm(form: LabForm): LabForm {
  switch (form.rival) {
    case 'exact':
      return { ...form, exact: '1', nprobes: '', refine: '', ef: '' };
    case 'settings':
      return {
        ...form,
        nprobes: form.rivalNprobes,
        refine: form.rivalRefine,
        ef: form.rivalEf,
        prefilter: form.rivalPrefilter,
        exact: form.rivalExact,
      };
    case 'version':
      if (form.rivalVersion === '') throw new FormFault('No version to compare with.', 'Choose one.');
      return { ...form, version: form.rivalVersion };
  }
}

/** In a few words, for the heads of the two sides. */
export function describeForm(form: LabForm): string {
  const parts = [
    form.exact === '' ? '' : 'exact',
    form.nprobes === '' ? '' : `nprobes ${form.nprobes}`,
    form.refine === '' ? '' : `refine ${form.refine}`,
    form.ef === '' ? '' : `ef ${form.ef}`,
    form.fast === '' ? '' : 'indexed rows only',
    form.filter !== '' && form.prefilter === '' ? 'filter afterwards' : '',
    form.version === '' ? '' : `version ${form.version}`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? 'as it is' : parts.join(', ');
}

/** The measure of a search: the same without an index. */
export function toExactBody(body: QueryTableBody): QueryTableBody {
  const { nprobes: _probes, refine_factor: _refine, ef: _ef, ...rest } = body;
  return { ...rest, bypass_vector_index: true };
}
