"use strict";
(() => {
  const form = document.getElementById("filter");
  const rows = [...document.querySelectorAll("#claims tbody tr")];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const names = ["words", "paper", "verdict", "source"];
  const field = (name) => document.getElementById(name);

  const show = () => {
    const words = field("words").value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    rows.forEach((row, place) => {
      const kept = names.slice(1).every((name) => !field(name).value || row.dataset[name] === field(name).value);
      row.hidden = !(kept && words.every((word) => texts[place].includes(word)));
      count += row.hidden ? 0 : 1;
    });
    document.getElementById("shown").textContent =
      count === rows.length ? `${count} claims` : `${count} of ${rows.length} claims`;
    document.getElementById("none").hidden = count > 0;
  };

  const read = () => {
    const wanted = new URLSearchParams(location.hash.slice(1));
    names.forEach((name) => { field(name).value = wanted.get(name) || ""; });
    show();
  };

  const changed = () => {
    const wanted = new URLSearchParams(names.map((name) => [name, field(name).value]).filter(([, value]) => value));
    history.replaceState(null, "", `#${wanted}`);
    show();
  };

  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(changed));
  addEventListener("hashchange", read);
  form.hidden = false;
  read();
})();
