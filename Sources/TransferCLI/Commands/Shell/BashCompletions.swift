/// The completion script for bash 4 and newer, with or without the package bash-completion.
enum BashCompletions {
    static var script: String {
        """
        # Completions of transfer for bash, made by 'transfer completions bash'.

        # What follows the words of a command.
        _transfer_operands() {
            case $1 in
        \(lines(operands))
                *) kind= ;;
            esac
        }

        # The flags of a command.
        _transfer_flags() {
            case $1 in
        \(lines(flags))
                *) kind= ;;
            esac
        }

        # The values of a flag, by the words of its command; nothing for one that takes none.
        _transfer_values() {
            case $1 in
        \(lines(values))
                *) kind= ;;
            esac
        }

        \(procedure)

        """
    }

    /// The part of the script that does not depend on the tables of commands.
    private static let procedure = """
        # Offers those of the lines on standard input that begin with $2, with $1 in front. Names come from others, who can call
        # themselves anything: they are offered quoted, and never given to what expands words, as compgen -W does.
        _transfer_offer() {
            local name quoted
            while IFS= read -r name; do
                printf -v quoted %q "$name"
                if [[ $name == "$2"* || $quoted == "$2"* ]]; then COMPREPLY+=("$1$quoted"); fi
            done
        }

        # Remotes, and what is on the one that is named, or on the server of the configuration unless $1 is --no-from: nothing is
        # asked and nothing said, whatever happens.
        _transfer_places() {
            _transfer_offer '' "$value" < <(
                transfer list --completions --no-ask-token "$@" -- "$value" 2>/dev/null </dev/null
            )
            # More follows a remote and a folder.
            if [[ ${#COMPREPLY[@]} == 1 && $COMPREPLY == *[:/] ]]; then compopt -o nospace 2>/dev/null; fi
        }

        _transfer_complete() {
            case $kind in
                files | folders)
                    compopt -o filenames 2>/dev/null
                    local action=-f
                    if [[ $kind == folders ]]; then action=-d; fi
                    mapfile -t COMPREPLY < <(compgen "$action" -- "$value")
                    ;;
                places | *+files)
                    if [[ $kind == *files && $value != *:* ]]; then
                        compopt -o filenames 2>/dev/null
                        mapfile -t COMPREPLY < <(compgen -f -- "$value")
                    elif [[ $kind == *files ]]; then
                        _transfer_offer '' "$value" < <(compgen -f -- "$value")
                    fi
                    if [[ $kind == targets* ]]; then _transfer_places --no-from; else _transfer_places; fi
                    ;;
                remotes)
                    if [[ $value == *:* ]]; then
                        _transfer_places
                    else
                        # A folder may follow the name.
                        compopt -o nospace 2>/dev/null
                        _transfer_offer '' "$value" < <(transfer remote list --names --no-json 2>/dev/null)
                    fi
                    ;;
                people)
                    # Several may stand with commas between them.
                    local before=''
                    if [[ $value == *,* ]]; then before=${value%,*},; fi
                    _transfer_offer "$before" "${value##*,}" < <(transfer people --names --no-json 2>/dev/null)
                    ;;
                words*) mapfile -t COMPREPLY < <(compgen -W "${kind#words}" -- "$value") ;;
            esac
        }

        _transfer() {
            local -a words=()
            local line=$COMP_LINE index word
            # Bash takes words apart at = and : too. Where no blank stands between them they are one.
            for ((index = 0; index <= COMP_CWORD; index++)); do
                word=${COMP_WORDS[index]}
                if ((index == 0)) || [[ ! $line || $line == [[:blank:]]* ]]; then
                    words+=("$word")
                    line=${line#"${line%%[![:blank:]]*}"}
                else
                    words[${#words[@]} - 1]+=$word
                fi
                line=${line#"$word"}
            done
            local last=$((${#words[@]} - 1)) start=1 chosen='' about='' kind=''
            local current=${words[last]}
            # The words of the command; of the one that is asked about behind help and its like.
            while ((start < last)); do
                _transfer_operands "$chosen"
                [[ "$kind " == words*" ${words[start]} "* ]] || break
                chosen+="${chosen:+ }${words[start]}"
                start=$((start + 1))
                _transfer_operands "$chosen"
                if [[ $kind == command ]]; then about=$chosen chosen=''; fi
            done
            local value=$current flag='' ended=''
            for word in "${words[@]:start:last - start}"; do
                if [[ $word == -- ]]; then ended=1; fi
            done
            if [[ ! $ended && $current == --*=* ]]; then
                flag=${current%%=*} value=${current#*=}
            elif [[ ! $ended ]] && ((last > start)) && [[ ${words[last - 1]} == -* ]]; then
                flag=${words[last - 1]}
            fi
            COMPREPLY=()
            _transfer_values "$chosen $flag"
            if [[ ! $kind && $current == -* && ! $ended ]]; then
                _transfer_flags "${chosen:-$about}"
            elif [[ ! $kind ]]; then
                _transfer_operands "$chosen"
                # Behind help and its like there is nothing but words.
                if [[ $about && $kind != words* ]]; then kind=; fi
            fi
            _transfer_complete
            # Readline keeps what stands before the last sign at which it takes words apart.
            local signs=''
            if [[ $COMP_WORDBREAKS == *:* ]]; then signs+=:; fi
            if [[ $COMP_WORDBREAKS == *=* ]]; then signs+='='; fi
            if [[ $signs ]]; then COMPREPLY=("${COMPREPLY[@]#"${value%"${value##*["$signs"]}"}"}"); fi
            if [[ $signs != *=* && $current == --*=* ]]; then COMPREPLY=("${COMPREPLY[@]/#/"$flag="}"); fi
        }

        complete -F _transfer transfer
        """

    /// A branch of a `case` statement.
    private typealias Line = (pattern: String, kind: String)

    private static func lines(_ lines: [Line]) -> String {
        lines.map { "        \(Shell.bash.quoted($0.pattern))) kind=\(Shell.bash.quoted($0.kind)) ;;" }
            .joined(separator: "\n")
    }

    private static var operands: [Line] {
        let stems = CommandTree.stems.map { stem in
            (stem, words(CommandTree.words(after: stem).map(\.text)))
        }
        let commands = Commands.all.flatMap { command in
            command.names.map { ($0, kind(of: command.operands == nil ? .text : command.operandCompletion)) }
        }
        return stems + commands.filter { !$0.1.isEmpty }
    }

    private static var flags: [Line] {
        ([Commands.program] + Commands.all).flatMap { command in
            command.names.map { ($0, words(command.flags.flatMap(\.spellings))) }
        }
    }

    private static var values: [Line] {
        Commands.all.flatMap { command in
            command.flags.filter { !$0.isSwitch && $0.bareValue == nil }.flatMap { flag in
                let kind = Self.kind(of: flag.completion).ifEmpty("text")
                return command.names.flatMap { name in flag.spellings.map { ("\(name) \($0)", kind) } }
            }
        }
    }

    private static func words(_ words: [String]) -> String { "words " + words.joined(separator: " ") }

    private static func kind(of value: FlagValue) -> String {
        switch value {
        case .text, .size, .duration: ""
        case .file: "files"
        case .folder: "folders"
        case .server, .remote: "remotes"
        case .place: "places"
        case .placeOrFile: "places+files"
        case .fileOrTarget: "targets+files"
        case .person: "people"
        case .command: "command"
        case .oneOf(let choices): words(choices)
        }
    }
}

extension String {
    fileprivate func ifEmpty(_ other: String) -> String { isEmpty ? other : self }
}
