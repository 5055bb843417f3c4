import type { JSX } from 'preact';
import type { JsonValue } from '../../../../src/client/rows.ts';
import type { TypeJson } from '../../../../src/wire/schema/schema-json.ts';
import { isBinary, isVector } from './field-type.ts';
import { formatBytes } from '../format.ts';

interface CellProps {
  readonly value: JsonValue | undefined;
  /** Absent for computed columns, such as a distance. */
  readonly type?: TypeJson | undefined;
}

const CHARACTERS_MAX = 160;

/** Vectors as a sparkline, thumbnails of images, truncated text. */
export function Cell({ value, type }: CellProps): JSX.Element {
  if (value === null || value === undefined) return <span class="null">null</span>;
  const numbers = type === undefined || isVector(type) ? toNumbers(value) : undefined;
  if (numbers !== undefined) return <VectorCell values={numbers} />;
  if (typeof value === 'string') return isBytes(value, type) ? <BytesCell base64={value} /> : <>{cut(value)}</>;
  if (typeof value === 'number' || typeof value === 'bigint') return <span class="number">{String(value)}</span>;
  if (typeof value === 'boolean') return <span class={value ? 'true' : 'muted'}>{String(value)}</span>;
  return <span class="mono">{cut(toText(value))}</span>;
}

function VectorCell({ values }: { readonly values: readonly number[] }): JSX.Element {
  return (
    <span class="vector">
      <Sparkline values={values} />
      <span class="muted">{values.length}</span>
    </span>
  );
}

/** If the type is unknown, only images count as bytes. */
export function isBytes(value: string, type: TypeJson | undefined): boolean {
  return type === undefined ? imageAddress(value) !== undefined : isBinary(type);
}

function BytesCell({ base64 }: { readonly base64: string }): JSX.Element {
  const address = imageAddress(base64);
  const size = formatBytes(byteCount(base64));
  return address === undefined ? (
    <span class="bytes">{size}</span>
  ) : (
    <span class="bytes">
      <img src={address} alt="" height="24" /> {size}
    </span>
  );
}

/** The first base64 characters of image formats; excludes SVG, which is a document. */
const IMAGES: readonly (readonly [RegExp, string])[] = [
  [/^iVBORw0KGgo/, 'image/png'],
  [/^\/9j\//, 'image/jpeg'],
  [/^R0lGOD/, 'image/gif'],
  [/^UklGR.{7}RUJQ/, 'image/webp'],
  [/^AAAA.{2}Z0eXBhdmlm/, 'image/avif'],
];

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

export function imageAddress(base64: string): string | undefined {
  const [, mediaType] = IMAGES.find(([begin]) => begin.test(base64)) ?? [];
  return mediaType === undefined || !BASE64.test(base64) ? undefined : `data:${mediaType};base64,${base64}`;
}

export function byteCount(base64: string): number {
  return Math.floor((base64.length * 3) / 4) - (/=*$/.exec(base64)?.[0].length ?? 0);
}

export function toNumbers(value: JsonValue): readonly number[] | undefined {
  if (!Array.isArray(value) || value.length < 2) return undefined;
  return value.every((each: JsonValue) => typeof each === 'number') ? value : undefined;
}

/** JSON with exact big integers. */
export function toText(value: JsonValue, indent?: number): string {
  const text = JSON.stringify(
    value,
    (_name, each: unknown) => (typeof each === 'bigint' ? `${MARK}${each}` : each),
    indent,
  );
  return text.replaceAll(MARKED, '$1');
}

const MARK = '\ue000';
const MARKED = /"\ue000(-?\d+)"/g;

function cut(text: string): string {
  return text.length > CHARACTERS_MAX ? `${text.slice(0, CHARACTERS_MAX)}…` : text;
}

interface SparklineProps {
  readonly values: readonly number[];
  readonly width?: number;
  readonly height?: number;
}

/** Reduces more points than pixels to the minimum and maximum of each step. */
const POINTS_MAX = 96;

export function Sparkline({ values, width = 96, height = 20 }: SparklineProps): JSX.Element {
  const points = thin(values, Math.min(POINTS_MAX, width));
  const low = Math.min(...points);
  const range = Math.max(...points) - low || 1;
  const step = points.length < 2 ? 0 : width / (points.length - 1);
  const scale = (height - 3) / range;
  const path = points.map((value, index) => `${tenths(index * step)},${tenths(height - 1.5 - (value - low) * scale)}`);
  return (
    <svg class="sparkline" width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
      <polyline points={path.join(' ')} />
    </svg>
  );
}

/** Cheaper than `toFixed`: a page of vectors has thousands of points. */
function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}

function thin(values: readonly number[], most: number): readonly number[] {
  const finite = values.every(Number.isFinite) ? values : values.map((value) => (Number.isFinite(value) ? value : 0));
  if (finite.length <= most) return finite;
  const size = Math.ceil((finite.length * 2) / most);
  const groups = Array.from({ length: Math.ceil(finite.length / size) }, (_unused, index) =>
    finite.slice(index * size, (index + 1) * size),
  );
  return groups.flatMap((group) => [Math.min(...group), Math.max(...group)]);
}
