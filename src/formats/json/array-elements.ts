/** The text of an object in a file, and the line on which it begins. */
export interface ObjectText {
  readonly line: number;
  readonly source: string;
}

/** Extracts the objects of a JSON array that arrives in pieces. The parser checks their contents. */
export class ArrayElements {
  #place: Place = 'start';
  #line = 1;
  /** The text of an incomplete object. */
  #source = '';
  #sourceLine = 1;
  #depth = 0;
  #isText = false;
  #isEscaped = false;

  readonly #refuse: (line: number, what: string) => never;

  /** `refuse` takes a line, and the rest of a sentence about it. */
  constructor(refuse: (line: number, what: string) => never) {
    this.#refuse = refuse;
  }

  get unfinished(): ObjectText {
    return { line: this.#sourceLine, source: this.#source };
  }

  add(piece: string): readonly ObjectText[] {
    const found: ObjectText[] = [];
    let from = 0;
    for (let at = 0; at < piece.length; at += 1) {
      const character = piece.charAt(at);
      if (character === '\n') this.#line += 1;
      const wasInside = this.#place === 'inside';
      if (wasInside) this.#readInside(character);
      else if (!/\s/.test(character)) this.#readBetween(character);
      if (!wasInside && this.#place === 'inside') {
        from = at;
        this.#sourceLine = this.#line;
      }
      if (wasInside && this.#place !== 'inside') {
        found.push({ line: this.#sourceLine, source: this.#source + piece.slice(from, at + 1) });
        this.#source = '';
      }
    }
    if (this.#place === 'inside') this.#source += piece.slice(from);
    return found;
  }

  end(): void {
    if (this.#place !== 'end') this.#refuse(this.#line, 'ends the file inside a JSON array');
  }

  #readInside(character: string): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (this.#isText) {
      if (character === '\\') this.#isEscaped = true;
      if (character === '"') this.#isText = false;
    } else if (character === '"') this.#isText = true;
    else if (character === '{' || character === '[') this.#depth += 1;
    else if (character === '}' || character === ']') {
      this.#depth -= 1;
      if (this.#depth === 0) this.#place = 'comma';
    }
  }

  #readBetween(character: string): void {
    const next = NEXT[`${this.#place} ${character}`] ?? this.#refuse(this.#line, 'is not part of an array of objects');
    if (next === 'inside') this.#depth = 1;
    this.#place = next;
  }
}

type Place = 'start' | 'first' | 'element' | 'comma' | 'inside' | 'end';

const NEXT: Readonly<Record<string, Place>> = {
  'start [': 'first',
  'first {': 'inside',
  'first ]': 'end',
  'element {': 'inside',
  'comma ,': 'element',
  'comma ]': 'end',
};
