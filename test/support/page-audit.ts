import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { whenSettled } from './page-state.ts';

/** Texts: the tests are not compiled for browsers. They are evaluated by the devtools, which the page's CSP allows. */
const AXE = readFileSync('node_modules/axe-core/axe.min.js', 'utf8');
const DRAWINGS = readFileSync('test/fixtures/console/drawing-contrast.js', 'utf8');

const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

// An experiment of axe-core that drawings with longer names than their words fail.
const OFF = { 'label-content-name-mismatch': { enabled: false } };

/** Rows after the first of a table: they are made as those are, and take most of the time. */
const ALIKE = ['tbody tr:nth-child(n + 8)'];

/** What is in order is not described. */
const ONLY_VIOLATIONS = { resultTypes: ['violations'], selectors: false };

const RUN = (
  options: object,
  within: string | undefined,
): string => `axe.run(${JSON.stringify({ exclude: ALIKE, ...(within && { include: [within] }) })}, ${JSON.stringify({ rules: OFF, ...ONLY_VIOLATIONS, ...options })}).then(({ violations }) =>
  violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => id + ': ' + help + ': ' + html.slice(0, 160))))`;

const SCHEMES = ['light', 'dark'] as const;
type Scheme = (typeof SCHEMES)[number];

/** What in the page, in its open dialog or in one element fails a rule of axe-core, in each colour scheme. */
export async function auditPage(page: Page, within?: string): Promise<readonly string[]> {
  return inBothSchemes(page, async (scheme) =>
    // The other rules do not depend on colours.
    runAxe(page, { runOnly: scheme === 'light' ? RULES : { type: 'rule', values: ['color-contrast'] } }, within),
  );
}

/** The rules that do not depend on colours, which are the same on every screen. */
export async function auditStructure(page: Page): Promise<readonly string[]> {
  await whenSettled(page);
  return runAxe(page, { runOnly: RULES, rules: { ...OFF, 'color-contrast': { enabled: false } } }, undefined);
}

/** Words in drawings, at which axe-core does not look, that have too little contrast. */
export async function auditDrawings(page: Page): Promise<readonly string[]> {
  return inBothSchemes(page, async () => page.evaluate(DRAWINGS));
}

async function inBothSchemes(
  page: Page,
  audit: (scheme: Scheme) => Promise<readonly string[]>,
): Promise<readonly string[]> {
  await whenSettled(page);
  const found: string[] = [];
  for (const colorScheme of SCHEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    for (const fault of await audit(colorScheme)) found.push(`${colorScheme}: ${fault}`);
  }
  await page.emulateMedia({ colorScheme: 'light' });
  return found;
}

async function runAxe(page: Page, options: object, within: string | undefined): Promise<readonly string[]> {
  if (await page.evaluate('window.axe === undefined')) await page.evaluate(`${AXE}\n;0`);
  return (await page.evaluate(RUN(options, within))) as readonly string[];
}

/** The boxes that may scroll sideways: everything else has to fit. */
const SIDEWAYS =
  '.scrolled, .grid-frame, .tabs, .lab-tabs, .plan-frame, .plan-text, .tree, pre, textarea, input, select, .value';

const OVERFLOW = `[document.scrollingElement, ...document.body.querySelectorAll('*')]
  .filter((each) => each.scrollWidth > each.clientWidth + 1 && !each.matches(${JSON.stringify(SIDEWAYS)}))
  .filter((each) => each === document.scrollingElement || ['auto', 'scroll'].includes(getComputedStyle(each).overflowX))
  .map((each) => each.outerHTML.slice(0, 120) + ' is ' + each.scrollWidth + ' wide in ' + each.clientWidth)`;

/** What makes the page, or a part of it that is no table, scroll sideways. */
export async function findOverflow(page: Page): Promise<readonly string[]> {
  await whenSettled(page);
  return (await page.evaluate(OVERFLOW)) as readonly string[];
}

const TARGET_PIXELS = 44;

/** Links in running text, and what is drawn by the label around it, are no targets of their own. */
const TARGETS = `[...document.querySelectorAll(
    'button, a[href], input, select, textarea, summary, [role=treeitem], [role=option]')]
  .filter((each) => each.checkVisibility({ visibilityProperty: true, opacityProperty: true }))
  .filter((each) => getComputedStyle(each).display !== 'inline')
  .filter((each) => !each.matches('.skip, .hidden, label input, [type=checkbox]'))
  .map((each) => [each, each.getBoundingClientRect()])
  .filter(([, box]) => box.width > 1 && box.height < ${TARGET_PIXELS} - 0.5)
  .map(([each, box]) => each.outerHTML.slice(0, 120) + ' is ' + Math.round(box.height) + ' high')`;

/** Controls that are too small for a finger. */
export async function findSmallTargets(page: Page): Promise<readonly string[]> {
  await whenSettled(page);
  return (await page.evaluate(TARGETS)) as readonly string[];
}

/** How the focused element and what is around it look, and who it is. */
const LOOK = `(() => {
  const element = document.activeElement;
  if (element === null || element === document.body) return undefined;
  const around = [element, element.parentElement, element.parentElement.parentElement, element.nextElementSibling];
  const inside = element.querySelector('.marked, .body') ;
  const looks = () => [...around, inside].map((each) => {
    if (each === null) return '';
    const { outline, boxShadow, borderColor, backgroundColor, stroke, strokeWidth } = getComputedStyle(each);
    return [outline, boxShadow, borderColor, backgroundColor, stroke, strokeWidth].join(' ');
  }).join('|');
  const focused = looks();
  element.blur();
  return { name: element.cloneNode().outerHTML.slice(0, 120), isSeen: focused !== looks() };
})()`;

/** The stops of the Tab key whose focus cannot be seen; and how many stops there are. */
export async function auditFocus(page: Page, stopsMax = 60): Promise<{ unseen: readonly string[]; stops: number }> {
  await whenSettled(page);
  const unseen: string[] = [];
  for (let stops = 0; stops < stopsMax; stops += 1) {
    await page.keyboard.press('Tab');
    const look = (await page.evaluate(LOOK)) as { name: string; isSeen: boolean } | undefined;
    if (look === undefined) return { unseen, stops };
    if (!look.isSeen) unseen.push(look.name);
  }
  return { unseen, stops: stopsMax };
}
