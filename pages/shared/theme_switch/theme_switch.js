// A button that changes between light and dark. Streamlit reads the choice from localStorage, under one key for each
// page's path, when it starts; the state of a page is in its URL, so loading it again loses nothing.
const SUN = '<circle cx="12" cy="12" r="4"/><path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.4M5.6 18.4 7 17M17 7l1.4-1.4"/>';
const MOON = '<path d="M20 14.5A8 8 0 0 1 9.5 4 8 8 0 1 0 20 14.5Z"/>';

export function render(root, data) {
  const icon = data.other === "light" ? SUN : MOON;
  root.innerHTML = `<button type="button"><svg viewBox="0 0 24 24" aria-hidden="true">${icon}</svg></button>`;
  const button = root.querySelector("button");
  button.setAttribute("aria-label", data.label);
  button.title = data.label;
  button.addEventListener("click", () => change(data));
}

function change({ other, pages }) {
  const choice = JSON.stringify(other === "dark" ? "Dark" : "Light");
  const path = window.location.pathname;
  const page = pages.find((name) => path.endsWith("/" + name));
  const home = page ? path.slice(0, -page.length) : path;
  for (const name of ["", ...pages]) {
    window.localStorage.setItem(`stActiveTheme-${home}${name}-v2`, choice);
  }
  window.location.reload();
}
