import Glibc
import Testing
import TransferTestSupport

/// A real shell that has loaded the completions of the program under test, and tells what it would offer.
struct CompletionShell: CustomTestStringConvertible {
    let name: String

    static let all = [bash, zsh, fish]
    static let bash = CompletionShell(name: "bash")
    static let zsh = CompletionShell(name: "zsh")
    static let fish = CompletionShell(name: "fish")

    var testDescription: String { name }

    private var executable: String { "/usr/bin/\(name)" }

    var isInstalled: Bool { access(executable, X_OK) == 0 }

    /// The completions offered at the end of a line.
    ///
    /// - Parameter home: directory with the user's configuration and the working directory.
    func offers(_ line: String, in home: TemporaryDirectory) throws -> [String] {
        let bin = home.path("bin")
        if access(bin, F_OK) != 0 {
            try makeDirectory(bin)
            try #require(symlink(Spawner.executable(), "\(bin)/transfer") == 0)
        }
        try writeFile(home.path("completions"), try Finished(["completions", name]).output.utf8)
        var surroundings = Surroundings()
        surroundings.executable = executable
        surroundings.directory = home.path("here")
        surroundings.environment = [
            "PATH": "\(bin):/usr/bin:/bin", "XDG_CONFIG_HOME": home.path("config"), "HOME": home.path("here"),
            "COMPLETIONS": home.path("completions"), "INNER": home.path("inner"), "TERM": "xterm",
        ]
        let finished = try Finished(Self.arguments(name, line), surroundings)
        guard finished.end == .exited(0) else { throw Program.Failure(description: finished.errors) }
        #expect(name == "zsh" || finished.errors == "", "\(finished.errors)")
        return Self.candidates(name, finished.output)
    }

    private static func arguments(_ name: String, _ line: String) -> [String] {
        switch name {
        case "bash": ["--norc", "-c", bashDriver, "bash", line] + bashWords(line)
        case "zsh": ["-f", "-c", zshDriver, "zsh", line]
        default: ["--no-config", "-c", "source $COMPLETIONS; complete -C $argv[1]", line]
        }
    }

    private static func candidates(_ name: String, _ output: String) -> [String] {
        let lines = output.split(whereSeparator: \.isNewline).map(String.init)
        switch name {
        case "bash": return lines.sorted()
        case "zsh": return Set(lines.filter { $0.hasPrefix("=") }.map { String($0.dropFirst()) }).sorted()
        // A tab separates a word from its description.
        default: return lines.map { String($0.prefix { $0 != "\t" }) }.sorted()
        }
    }

    // MARK: Bash

    /// Splits a line like bash, which treats = and : as separate words.
    private static func bashWords(_ line: String) -> [String] {
        var words = [""]
        for character in line {
            switch character {
            case " ": words.append("")
            case "=", ":":
                if words.last?.isEmpty == true { words.removeLast() }
                words += ["\(character)", ""]
            default: words[words.endIndex - 1].append(character)
            }
        }
        // At the end of a line, bash treats the sign as the word at the cursor.
        if line.hasSuffix("=") || line.hasSuffix(":") { words.removeLast() }
        return words.enumerated().filter { $0.offset == words.count - 1 || !$0.element.isEmpty }.map(\.element)
    }

    private static let bashDriver = #"""
        . "$COMPLETIONS"
        COMP_LINE=$1 COMP_POINT=${#1}
        shift
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        function=$(complete -p transfer)
        function=${function#*-F }
        "${function%% *}"
        ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
        """#

    // MARK: Zsh

    /// Types a tab in an interactive shell at a terminal. The offers go through compadd.
    private static let zshDriver = #"""
        zmodload zsh/zpty
        cat > $INNER <<'END'
        PROMPT=
        autoload -Uz compinit
        compinit -u -C -d $INNER.dump
        . $COMPLETIONS
        compadd() {
            if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then builtin compadd "$@"; return; fi
            local -a hits
            builtin compadd -A hits "$@"
            print -rl -- "" "="$^hits
            builtin compadd "$@"
        }
        closing() { print -r -- ""; print -r -- "<end>"; exit }
        bindkey "^I" complete-word
        comppostfuncs=(closing)
        print "<ready>"
        END
        zpty inner zsh -f -i
        zpty -w inner ". $INNER"
        while zpty -r inner chunk; do text+=$chunk; [[ $text == *"<ready>"* ]] && break; done
        zpty -w -n inner "$1"$'\t'
        text=
        while zpty -r inner chunk; do text+=$chunk; [[ $text == *"<end>"* ]] && break; done
        print -r -- "$text"
        """#
}
