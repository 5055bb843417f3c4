import type { ApiClient } from '../../client/api-client.ts';
import { waitForJob } from '../../client/calls.ts';
import { ClientError } from '../../client/client-error.ts';
import { createTag } from '../../client/history.ts';
import { updateRows } from '../../client/rows.ts';
import { createNamespace, createTable, startIndex } from '../../client/tables.ts';
import { columnsToStream } from '../../formats/arrow/arrow-stream.ts';
import type { TablePath } from '../../model/identifier.ts';
import { PATTERNS, drawPicture } from './draw-picture.ts';
import type { Colour } from './draw-picture.ts';
import { VECTOR_LENGTH, toVector } from './picture-vector.ts';
import { encodePng } from './png.ts';

interface Palette {
  readonly colours: readonly Colour[];
  readonly words: string;
}

const PALETTES: Readonly<Record<string, Palette>> = {
  ember: { colours: [[38, 12, 22], [168, 40, 38], [248, 150, 60], [255, 226, 160]], words: 'glowing red and orange' }, // prettier-ignore
  ocean: {
    colours: [
      [8, 26, 60],
      [16, 92, 140],
      [60, 180, 190],
      [220, 245, 240],
    ],
    words: 'deep blue and turquoise',
  },
  forest: {
    colours: [
      [14, 34, 24],
      [38, 92, 54],
      [128, 168, 76],
      [232, 238, 190],
    ],
    words: 'moss and leaf green',
  },
  dusk: {
    colours: [
      [28, 18, 52],
      [94, 50, 120],
      [214, 108, 140],
      [252, 206, 172],
    ],
    words: 'violet fading into pink',
  },
  citrus: {
    colours: [
      [84, 92, 10],
      [190, 190, 30],
      [252, 214, 60],
      [255, 250, 214],
    ],
    words: 'lemon and lime',
  },
  slate: {
    colours: [
      [22, 26, 32],
      [72, 82, 94],
      [150, 162, 172],
      [240, 243, 245],
    ],
    words: 'cool shades of grey',
  },
  rose: {
    colours: [
      [70, 10, 40],
      [184, 44, 92],
      [244, 140, 160],
      [255, 234, 232],
    ],
    words: 'crimson and soft pink',
  },
  sand: {
    colours: [
      [60, 40, 26],
      [150, 108, 66],
      [216, 184, 132],
      [250, 240, 220],
    ],
    words: 'warm brown and ivory',
  },
};

const PATTERN_WORDS: Readonly<Record<string, string>> = {
  rings: 'Concentric rings',
  waves: 'Rolling waves',
  rays: 'Rays from the centre',
  spiral: 'A slow spiral',
  dots: 'A field of round dots',
  weave: 'Diagonal threads that cross like a woven cloth',
  tiles: 'A mosaic of square tiles',
  hills: 'Layers of distant hills',
};

const DENSITIES = [
  { density: 3, words: 'large and calm' },
  { density: 5, words: 'evenly spaced' },
  { density: 8, words: 'lively and close together' },
  { density: 12, words: 'fine and busy' },
  { density: 17, words: 'so fine that it shimmers' },
];

const FIRST_DAY = Date.UTC(2026, 0, 1);
const DAY = 86_400_000;

export const GALLERY: TablePath = ['demo', 'gallery'];

/** Returns whether the table is new; an existing one stays unchanged. */
export async function loadDemo(client: ApiClient): Promise<boolean> {
  await createNamespace(client, ['demo'], { mode: 'exist_ok' });
  try {
    await createTable(client, GALLERY, galleryStream());
  } catch (error) {
    if (error instanceof ClientError && error.status === 409) return false;
    throw error;
  }
  await createTag(client, GALLERY, { tag: 'opening', version: 1 });
  for (const body of [
    { column: 'description', index_type: 'FTS' },
    { column: 'price', index_type: 'BTREE' },
  ]) {
    const { job_id: job } = await startIndex(client, GALLERY, body);
    if (job !== undefined) await waitForJob(client, job);
  }
  // A change to look at in the table's history.
  await updateRows(client, GALLERY, { updates: [['price', 'price * 0.5']], predicate: "palette = 'dusk'" });
  return true;
}

/** An Arrow stream of pictures with their titles, descriptions and vectors; always the same bytes. */
function galleryStream(): Uint8Array {
  const works = listWorks();
  const column = (name: string, type: string, valueOf: (work: Work, index: number) => unknown) => ({
    name,
    type,
    values: works.map(valueOf),
  });
  const pictures = works.map((work) => drawPicture(work));
  return columnsToStream([
    column('id', 'int32', (_work, index) => index + 1),
    column('title', 'string', ({ title }) => title),
    column('description', 'string', ({ description }) => description),
    column('pattern', 'string', ({ patternName }) => patternName),
    column('palette', 'string', ({ paletteName }) => paletteName),
    column('price', 'float64', ({ price }) => price),
    column('rating', 'float32', ({ rating }) => rating),
    column('added', 'date', (_work, index) => Math.floor((FIRST_DAY + index * DAY) / DAY)),
    { name: 'image', type: 'binary', values: pictures.map(encodePng) },
    { name: 'embedding', type: `float32[${VECTOR_LENGTH}]`, values: pictures.map(toVector) },
  ]);
}

type Work = ReturnType<typeof listWorks>[number];

function listWorks() {
  const works = Object.entries(PATTERNS).flatMap(([patternName, pattern]) =>
    Object.entries(PALETTES).flatMap(([paletteName, palette]) =>
      DENSITIES.map(({ density, words }, index) => ({
        pattern,
        patternName,
        paletteName,
        colours: palette.colours,
        density,
        title: `${capitalize(paletteName)} ${patternName} ${index + 1}`,
        description: `${PATTERN_WORDS[patternName] ?? patternName} in ${palette.words}, ${words}.`,
      })),
    ),
  );
  return works.map((work, index) => ({
    ...work,
    turn: spread(index, 0.618),
    price: 20 + Math.round(spread(index, 0.414) * 180) + 0.5,
    rating: Math.round(20 + spread(index, 0.732) * 30) / 10,
  }));
}

/** From 0 to 1, evenly spread without a visible pattern. */
function spread(index: number, step: number): number {
  return ((index + 1) * step) % 1;
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
