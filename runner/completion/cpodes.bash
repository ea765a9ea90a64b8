# Completion for bash of the program cpodes. All names come from the program itself: commands and options from its help.

# The options of a command; those that take a value end with "="
_cpodes_options() { # program command
  "$1" "$2" --help 2>/dev/null | sed -nE 's/^  (-., |    )(--[a-z-]+=?).*/\2/p'
}

# The long option of a letter, or of the last of several letters: both -m and -qm give --method=
_cpodes_long() { # program command -qm
  "$1" "$2" --help 2>/dev/null | sed -nE "s/^ +-${3: -1}, (--[a-z-]+=?).*/\1/p"
}

_cpodes_reply() { # as compgen
  mapfile -t COMPREPLY < <(compgen "$@")
}

# Sets `option` to the option whose value the word at the cursor is, or to "", and `part` to the part of the value that is there.
# If readline breaks words at "=", that is a word of its own.
_cpodes_find_option() { # program command
  local before=${COMP_WORDS[COMP_CWORD - 1]}
  option="" part=${COMP_WORDS[COMP_CWORD]}
  if [[ $part == "=" && $before == --* ]]; then
    option=$before= part=""
  elif [[ $before == "=" && ${COMP_WORDS[COMP_CWORD - 2]} == --* ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}=
  elif [[ $part == --*=* ]]; then
    option=${part%%=*}= part=${part#*=}
  elif [[ $before == --* ]]; then
    option=$before=
  elif [[ $before == -* ]]; then
    option=$(_cpodes_long "$1" "$2" "$before")
  fi
  [[ $option == *= ]] || option=""
  if [[ -n $option ]] && ! _cpodes_options "$1" "$2" | grep -qxF -- "$option"; then
    option=""
  fi
}

# Sets `model` to the model among the words, or to "" if there is none yet
_cpodes_find_model() { # program command
  local i word with_value
  with_value=$(_cpodes_options "$1" "$2" | grep '=$')
  model=""
  for ((i = 2; i < ${#COMP_WORDS[@]}; i++)); do
    ((i == COMP_CWORD)) && continue
    word=${COMP_WORDS[i]}
    if [[ ${COMP_WORDS[i + 1]} == "=" || $word == "=" || ${COMP_WORDS[i - 1]} == "=" ]]; then
      continue # --option = value
    elif [[ $word == --* ]]; then
      grep -qxF -- "$word=" <<<"$with_value" && ((i++))
    elif [[ $word == -* ]]; then
      [[ $(_cpodes_long "$1" "$2" "$word") == *= ]] && ((i++))
    else
      model=$word
      return
    fi
  done
}

_cpodes_complete_value() { # program option part model
  local file first
  case $2 in
    --methods=)
      [[ $3 == *,* ]] && first=${3%,*}, # the last of a list
      _cpodes_reply -P "$first" -W "$("$1" list --methods --names)" -- "${3##*,}"
      compopt -o nospace
      ;;
    --method=) _cpodes_reply -W "$("$1" list --methods --names)" -- "$3" ;;
    --linsol=) _cpodes_reply -W "$("$1" list --linsols --names)" -- "$3" ;;
    --norm=) _cpodes_reply -W "$("$1" list --norms --names)" -- "$3" ;;
    --form=) _cpodes_reply -W "auto mech ode" -- "$3" ;;
    --param=)
      [[ -n $4 ]] && _cpodes_reply -S = -W "$("$1" describe "$4" --parameters 2>/dev/null)" -- "$3"
      compopt -o nospace
      ;;
    --csv= | --json= | --plot= | --picture= | --report=)
      compopt -o filenames
      while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -f -- "$3")
      ;;
    --directory=)
      compopt -o filenames
      while IFS= read -r file; do COMPREPLY+=("$file"); done < <(compgen -d -- "$3")
      ;;
  esac
}

# From the catalogue, or a shared object, perhaps in a folder
_cpodes_complete_model() { # program part
  local file
  _cpodes_reply -W "$("$1" list --names 2>/dev/null)" -- "$2"
  while IFS= read -r file; do
    [[ -d $file || $file == *.so ]] && COMPREPLY+=("$file")
  done < <(compgen -f -- "$2")
  compopt -o filenames
}

_cpodes() {
  local program=${COMP_WORDS[0]} command=${COMP_WORDS[1]} option part model
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    _cpodes_reply -W "$("$program" --help 2>/dev/null | sed -nE 's/^  ([a-z]+) .*/\1/p')" -- "$command"
    return
  fi
  _cpodes_find_option "$program" "$command"
  [[ $command == @(describe|run|compare|check) ]] && _cpodes_find_model "$program" "$command"
  if [[ -n $option ]]; then
    _cpodes_complete_value "$program" "$option" "$part" "$model"
  elif [[ $part == -* ]]; then
    _cpodes_reply -W "$(_cpodes_options "$program" "$command")" -- "$part"
    [[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace
  elif [[ -z $model && $command == @(describe|run|compare|check) ]]; then
    _cpodes_complete_model "$program" "$part"
  fi
}

complete -F _cpodes cpodes
