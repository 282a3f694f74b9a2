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

    /// Quotes a word for the shell; fish needs its backslashes escaped.
    func quoted(_ text: String) -> String {
        switch self {
        case .bash, .zsh: "'" + text.replacing("'", with: "'\\''") + "'"
        case .fish: "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'") + "'"
        }
    }
}

extension String {
    /// Replaces a scalar by a text. Works on scalars, because a combining character after a quote would hide it from
    /// `Character`.
    fileprivate func replacing(_ part: Unicode.Scalar, with other: String) -> String {
        unicodeScalars.reduce(into: "") { text, scalar in
            if scalar == part { text += other } else { text.unicodeScalars.append(scalar) }
        }
    }
}
