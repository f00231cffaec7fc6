#!/bin/sh
# axe-core for the page tests, under build/axe: nothing to do where it is; fetched by npm where there is one; otherwise
# said, and the page tests do with their own checks. Never fails.
[ -f build/axe/node_modules/axe-core/axe.min.js ] && exit 0
command -v npm >/dev/null 2>&1 || { echo "no axe-core: there is no npm to fetch it"; exit 0; }
timeout 60 npm install --silent --no-audit --no-fund --prefix build/axe axe-core@4 >/dev/null 2>&1 ||
	echo "no axe-core: npm could not fetch it"
exit 0
