import type { LabForm, LabTab, Search } from '../form/lab-form.ts';
import { hasText, hasVector } from '../form/query-body.ts';

const KINDS: Readonly<Record<Search, string>> = {
  none: 'Scan',
  vector: 'Vector search',
  text: 'Text search',
  hybrid: 'Hybrid search',
};

const TABS: Readonly<Record<LabTab, string>> = { results: '', plan: 'plan', compare: 'comparison', map: 'map' };

/** One line for lists: `Vector search, like id = 7, where price > 5, 20 rows`. */
export function summarize(form: LabForm): string {
  const parts = [
    form.tab === 'map' ? 'Map' : KINDS[form.search],
    hasText(form) && form.words !== '' ? `“${form.words}”` : '',
    hasVector(form) && form.source === 'row' && form.like !== '' ? `like ${form.like}` : '',
    hasVector(form) && form.source === 'meaning' && form.meaning !== '' ? `near “${form.meaning}”` : '',
    form.filter === '' ? '' : `where ${form.filter}`,
    form.tab === 'map' && form.colour !== '' ? `coloured by ${form.colour}` : '',
    form.order === '' ? '' : `by ${form.order}`,
    form.version === '' ? '' : `version ${form.version}`,
    form.branch === '' ? '' : `branch ${form.branch}`,
    form.tab === 'map' ? '' : `${form.k} rows`,
    form.tab === 'map' ? '' : TABS[form.tab],
  ];
  return parts.filter((part) => part !== '').join(', ');
}
