import { ServiceError } from '../../errors/service-error.ts';

/** The offered media type that `Accept` prefers (RFC 9110, section 12.5.1); the first one on a tie or without a header. */
export function chooseMediaType(accept: string | undefined, offered: readonly [string, ...string[]]): string {
  if (accept === undefined || accept.trim() === '') return offered[0];
  const preferences = accept.split(',').map(readPreference);
  const [best] = offered
    .map((type) => ({ type, quality: qualityOf(type, preferences) }))
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality);
  if (best !== undefined) return best.type;
  throw new ServiceError('NotAcceptable', 'None of the media types in Accept is offered.', {
    hint: `Offered are ${offered.join(', ')}.`,
  });
}

function readPreference(text: string) {
  const [range = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  const quality = weight === undefined ? 1 : Number(weight.slice(2));
  return { range, quality: Number.isFinite(quality) ? Math.min(Math.max(quality, 0), 1) : 0 };
}

/** The most specific matching range decides. */
function qualityOf(type: string, preferences: readonly ReturnType<typeof readPreference>[]): number {
  const [family = ''] = type.split('/');
  for (const range of [type, `${family}/*`, '*/*']) {
    const fitting = preferences.filter((preference) => preference.range === range);
    if (fitting.length > 0) return Math.max(...fitting.map((preference) => preference.quality));
  }
  return 0;
}
