import { readFileSync } from 'node:fs';
import { lexer } from 'marked';
import type { Token } from 'marked';

/** A block of code of a page, with what the comments right above it say. */
export interface CodeBlock {
  readonly page: string;
  /** Of the page, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
  readonly isIndented: boolean;
  /** `<!-- not run: why -->` */
  readonly notRun: string | undefined;
  /** `<!-- refused: 400 -->`: the block shows a refusal, which has this status. */
  readonly refused: string | undefined;
  /** `<!-- prints: text -->`, any number of them: what must be in the output. */
  readonly prints: readonly string[];
}

export function readCodeBlocks(page: string): readonly CodeBlock[] {
  const text = readFileSync(page, 'utf8');
  const blocks: CodeBlock[] = [];
  let searchFrom = 0;
  let comments = '';
  const visit = (tokens: readonly Token[]): void => {
    for (const token of tokens) {
      if (token.type === 'code') {
        const place = text.indexOf(firstLine(token.raw), searchFrom);
        searchFrom = place + 1;
        blocks.push({
          page,
          line: text.slice(0, Math.max(place, 0)).split('\n').length,
          language: String(token['lang'] ?? '').split(/\s/)[0] ?? '',
          code: String(token['text']),
          isIndented: token['codeBlockStyle'] === 'indented',
          notRun: /<!-- not run: ([\s\S]+?) -->/.exec(comments)?.[1],
          refused: /<!-- refused: (\d+) -->/.exec(comments)?.[1],
          prints: [...comments.matchAll(/<!-- prints: (.+?) -->/g)].map((found) => found[1] ?? ''),
        });
      }
      if (token.type === 'html') comments += token.raw;
      else if (token.type !== 'space') comments = '';
      if ('items' in token && Array.isArray(token.items)) visit(token.items as Token[]);
      else if ('tokens' in token && Array.isArray(token.tokens)) visit(token.tokens);
    }
  };
  visit(lexer(text));
  return blocks;
}

function firstLine(text: string): string {
  return text.slice(0, text.indexOf('\n') + 1);
}
