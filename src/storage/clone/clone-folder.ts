/** The folder of a table, as the source or the target of a clone. Paths are below it. */
export interface CloneFolder {
  /** Before the first file is written. */
  prepare(): Promise<void>;
  /** `undefined`: no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** All files below a path. */
  list(path: string): AsyncIterable<CloneFile>;
  /** Copies a file of another table. */
  add(path: string, file: CloneFile): Promise<void>;
  put(path: string, content: Buffer): Promise<void>;
  /** Removes everything. */
  remove(): Promise<void>;
}

export interface CloneFile extends PartedContent {
  /** Below the folder of the table. */
  readonly path: string;
  readonly at: LocalFile | StoredFile;
}

interface LocalFile {
  readonly kind: 'local';
  readonly file: string;
}

interface StoredFile {
  readonly kind: 'object';
  readonly scheme: string;
  readonly bucket: string;
  readonly key: string;
}

/** Something that is too large to be in memory as a whole. */
export interface PartedContent {
  readonly bytes: number;
  /** Exactly that many bytes. */
  readPart(start: number, length: number): Promise<Buffer>;
}
