/// A shell with a completion script.
enum Shell: String, FlagChoice {
    case bash, zsh, fish

    var flagValue: String { rawValue }

    /// The script that completes commands, flags, their choices, files and remotes.
    var completions: String {
        switch self {
        case .bash: BashCompletions.script
        case .zsh: ZshCompletions.script
        case .fish: FishCompletions.script
        }
    }

    /// Quotes a word for the shell. For fish, backslashes must be escaped as well.
    func quoted(_ text: String) -> String {
        switch self {
        case .bash, .zsh: "'" + text.replacing("'", with: "'\\''") + "'"
        case .fish: "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
    }
}

extension String {
    /// Replaces a Unicode scalar by a text. The text is searched by scalars, because as a `Character`, a quote and a
    /// combining mark after it are one other character.
    fileprivate func replacing(_ part: Unicode.Scalar, with other: String) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            if scalar == part { text += other } else { text.unicodeScalars.append(scalar) }
        }
    }
}
