# Completion of lopsided in bash, as `lopsided --install-completion` writes it.
_lopsided() {
  local found
  COMPREPLY=()
  while IFS= read -r found; do
    COMPREPLY+=("$found")
    # No space after a word that can be continued.
    case $found in *[./=]) compopt -o nospace ;; esac
  done < <("${1/#\~/$HOME}" --complete bash "$COMP_WORDBREAKS" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
}
complete -o nosort -F _lopsided lopsided
