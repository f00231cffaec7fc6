#!/bin/sh
# The browser that the page tests look through. Nothing to do where one is on PATH; installed where that can be done
# (root, apt-get); otherwise said, and the page tests are skipped with that reason. Never fails.
for name in chromium chromium-browser google-chrome chrome; do
	command -v "$name" >/dev/null 2>&1 && exit 0
done

absent() {
	echo "no browser: $1; the page tests that need one are skipped (install chromium to have them run)"
	exit 0
}

[ "$(id -u)" = 0 ] || absent "none is on PATH, and only root may install one"
command -v apt-get >/dev/null 2>&1 || absent "none is on PATH, and there is no apt-get to install one"

echo "installing chromium for the page tests (once, about half a minute)"
export DEBIAN_FRONTEND=noninteractive
install() {
	timeout 240 apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=120 chromium >/dev/null 2>&1
}
install || { timeout 120 apt-get update -qq >/dev/null 2>&1 && install; } || absent "apt-get could not install chromium"
